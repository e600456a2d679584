//! What stands in a page and means nothing: comments and the like.

use memchr::memchr;

/// Something to pass over, and how much of its end has come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Skipped {
    /// `<!--` to `-->` (HTML standard, sections 13.2.5.43 to 13.2.5.52).
    Comment {
        /// Whether nothing but dashes has come: `<!-->` is a whole comment.
        is_new: bool,
        /// How many dashes came last, up to two.
        dashes: u8,
        /// Whether two dashes and an exclamation mark came last.
        bang: bool,
    },
    /// A doctype, a processing instruction, or nonsense: to the next `>`.
    Bogus,
    /// `<![CDATA[` to `]]>`. Not nothing, but text.
    Cdata {
        /// How many brackets came last, up to two.
        brackets: u8,
    },
}

impl Skipped {
    pub(super) const COMMENT: Self = Self::Comment { is_new: true, dashes: 0, bang: false };
    pub(super) const CDATA: Self = Self::Cdata { brackets: 0 };

    /// Where it ends, if it does in `input`, from `at` on.
    pub(super) fn end(&mut self, input: &[u8], at: usize) -> Option<usize> {
        match self {
            Self::Bogus => memchr(b'>', &input[at..]).map(|passed| at + passed + 1),
            Self::Comment { is_new, dashes, bang } => {
                let mut at = at;
                loop {
                    if *dashes == 0 && !*is_new {
                        at += memchr(b'-', input.get(at..)?)?;
                    }
                    match *input.get(at)? {
                        b'>' if *is_new || *bang || *dashes == 2 => return Some(at + 1),
                        b'-' if *bang => (*dashes, *bang) = (1, false),
                        b'-' => *dashes = (*dashes + 1).min(2),
                        b'!' if *dashes == 2 && !*bang => *bang = true,
                        _ => (*is_new, *dashes, *bang) = (false, 0, false),
                    }
                    if *bang || *dashes == 2 {
                        *is_new = false;
                    }
                    at += 1;
                }
            }
            Self::Cdata { brackets } => {
                let mut at = at;
                loop {
                    if *brackets == 0 {
                        at += memchr(b']', input.get(at..)?)?;
                    }
                    match *input.get(at)? {
                        b']' => *brackets = (*brackets + 1).min(2),
                        b'>' if *brackets == 2 => return Some(at + 1),
                        _ => *brackets = 0,
                    }
                    at += 1;
                }
            }
        }
    }
}
