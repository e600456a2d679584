//! Comments and other markup that the tokenizer skips.

use super::scan::find;
use super::tail::Tail;

/// A piece of markup that is skipped up to its end, which may be in a later
/// slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comment {
    kind: Kind,
    /// The last bytes of it in earlier slices.
    tail: Tail,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A doctype, a processing instruction, or a bogus comment: up to the next
    /// `>`.
    Bogus,
    /// `<!--` to `-->` (HTML standard, sections 13.2.5.43 to 13.2.5.52).
    Comment,
    /// `<![CDATA[` to `]]>`. This is text, which may be a style sheet of SVG; its end
    /// counts as a part of it.
    Cdata,
}

impl Comment {
    pub(super) const BOGUS: Self = Self::of(Kind::Bogus);
    pub(super) const COMMENT: Self = Self::of(Kind::Comment);
    pub(super) const CDATA: Self = Self::of(Kind::Cdata);

    const fn of(kind: Kind) -> Self {
        Self { kind, tail: Tail::NONE }
    }

    pub(super) fn is_cdata(self) -> bool {
        matches!(self.kind, Kind::Cdata)
    }

    /// Returns the index behind its end, if `input` has the end at `at` or later.
    ///
    /// Every kind ends with a `>`; the bytes before that decide if it is the
    /// end.
    #[inline(always)]
    pub(super) fn end(&mut self, input: &[u8], at: usize) -> Option<usize> {
        let mut from = at;
        while let Some(end) = find(b'>', input, from) {
            let passed = &input[at..end];
            let is_cut = passed.len() < 3 && !self.tail.bytes().is_empty();
            if if is_cut { self.ends_across_slices(passed) } else { self.kind.ends_after(passed) } {
                return Some(end + 1);
            }
            from = end + 1;
        }
        self.tail.add(&input[at..]);
        None
    }

    fn ends_across_slices(&self, passed: &[u8]) -> bool {
        let mut tail = self.tail;
        tail.add(passed);
        self.kind.ends_after(tail.bytes())
    }
}

impl Kind {
    /// Returns true if a `>` after these bytes is the end. `tail` is all of the
    /// bytes so far, or at least the last three.
    #[inline]
    fn ends_after(self, tail: &[u8]) -> bool {
        match self {
            Self::Bogus => true,
            // `<!-->` and `<!--->` are complete comments.
            Self::Comment => {
                matches!(tail, b"" | b"-" | [.., b'-', b'-'] | [.., b'-', b'-', b'!'])
            }
            Self::Cdata => tail.ends_with(b"]]"),
        }
    }
}
