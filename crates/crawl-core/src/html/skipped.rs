//! What stands in a page and means nothing: comments and the like.

use super::last::Last;
use super::scan::find;

/// Something to pass over, and how much of it has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Skipped {
    what: What,
    last: Last,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// A doctype, a processing instruction, or nonsense: to the next `>`.
    Bogus,
    /// `<!--` to `-->` (HTML standard, sections 13.2.5.43 to 13.2.5.52).
    Comment,
    /// `<![CDATA[` to `]]>`. Not nothing, but text.
    Cdata,
}

impl Skipped {
    pub(super) const BOGUS: Self = Self::of(What::Bogus);
    pub(super) const COMMENT: Self = Self::of(What::Comment);
    pub(super) const CDATA: Self = Self::of(What::Cdata);

    const fn of(what: What) -> Self {
        Self { what, last: Last::NONE }
    }

    /// Where it ends, if it does in `input`, from `at` on.
    ///
    /// All of them end with a `>`, and what came before it tells whether this
    /// is the one.
    #[inline(always)]
    pub(super) fn end(&mut self, input: &[u8], at: usize) -> Option<usize> {
        let mut from = at;
        while let Some(end) = find(b'>', input, from) {
            let passed = &input[at..end];
            let is_cut = passed.len() < 3 && !self.last.bytes().is_empty();
            if if is_cut { self.ends_in_pieces(passed) } else { self.what.ends_behind(passed) } {
                return Some(end + 1);
            }
            from = end + 1;
        }
        self.last.add(&input[at..]);
        None
    }

    fn ends_in_pieces(&self, passed: &[u8]) -> bool {
        let mut last = self.last;
        last.add(passed);
        self.what.ends_behind(last.bytes())
    }
}

impl What {
    /// Whether a `>` is the end behind these bytes: the last three, or all.
    #[inline]
    fn ends_behind(self, last: &[u8]) -> bool {
        match self {
            Self::Bogus => true,
            // `<!-->` and `<!--->` are whole comments.
            Self::Comment => {
                matches!(last, b"" | b"-" | [.., b'-', b'-'] | [.., b'-', b'-', b'!'])
            }
            Self::Cdata => last.ends_with(b"]]"),
        }
    }
}
