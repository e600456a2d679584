//! Text in which only one tag means something: its own end.

use super::last::Last;
use super::name::{self, Name, ends_name};
use super::scan::{find, find2};
use super::{Text, TokenSink};

/// Longer names end no element of text.
const LONGEST: usize = 16;

/// The content of a `style`, `title`, `script` or suchlike element (HTML
/// standard, sections 13.2.5.2 to 13.2.5.31).
///
/// A script may hold a comment, for browsers of the last century, and that
/// comment a whole other script, whose end tag does not end the outer one.
#[derive(Debug, Default)]
pub(super) struct RawText {
    element: Name,
    text: Text,
    script: Escape,
    progress: Progress,
    /// The name that may turn out to be the one that ends the element.
    candidate: Name,
    candidate_length: usize,
    /// What of it lay in earlier slices: text, unless it is the end tag.
    held: Vec<u8>,
    /// The end of earlier slices.
    earlier: Last,
}

/// What is around the present place of a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    /// A comment.
    Comment,
    /// A script in a comment.
    Script,
}

/// How much of something that matters has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    #[default]
    Nothing,
    /// `<`
    Less,
    /// `</`, and letters.
    EndTag,
    /// `<`, and letters.
    StartTag,
    /// `<!`
    Bang,
    /// `<!-`
    BangDash,
}

impl RawText {
    /// The content of `element`, from its beginning.
    pub(super) fn of(element: Name, text: Text) -> Self {
        Self { element, text, ..Self::default() }
    }

    /// The element whose content this is.
    pub(super) fn element(&self) -> Name {
        self.element
    }

    /// Takes text from `at` on. `Ok` is behind the name of the end tag that has
    /// come, `Err` means that all was text so far.
    pub(super) fn feed(
        &mut self,
        input: &[u8],
        mut at: usize,
        sink: &mut impl TokenSink,
    ) -> Result<usize, ()> {
        // Where text begins that the sink has not got, and where the candidate.
        // If some is held, it is the beginning of a candidate that goes on here.
        let text = at;
        let mut candidate = at;
        while let Some(&byte) = input.get(at) {
            match self.progress {
                Progress::Nothing => {
                    let Some(less) = self.next_less(input, at) else {
                        self.earlier.add(input);
                        sink.text(&input[text..], self.text);
                        return Err(());
                    };
                    candidate = less;
                    at = less + 1;
                    self.progress = Progress::Less;
                }
                Progress::Less if byte == b'/' => {
                    self.begin(Progress::EndTag);
                    at += 1;
                }
                Progress::Less if byte == b'!' && self.may_escape() => {
                    self.progress = Progress::Bang;
                    at += 1;
                }
                Progress::Less if byte.is_ascii_alphabetic() && self.script == Escape::Comment => {
                    self.begin(Progress::StartTag);
                }
                Progress::Bang if byte == b'-' => {
                    self.progress = Progress::BangDash;
                    at += 1;
                }
                Progress::BangDash if byte == b'-' => {
                    self.script = Escape::Comment;
                    self.progress = Progress::Nothing;
                    at += 1;
                }
                Progress::EndTag | Progress::StartTag
                    if byte.is_ascii_alphabetic() && self.candidate_length < LONGEST =>
                {
                    let longest = at + LONGEST - self.candidate_length;
                    let input = &input[..longest.min(input.len())];
                    let (candidate, end) = self.candidate.take(input, at, &name::ALPHABETIC);
                    self.candidate = candidate;
                    self.candidate_length += end - at;
                    at = end;
                }
                Progress::EndTag if self.candidate == self.element && ends_name(byte) => {
                    if self.script != Escape::Script {
                        self.held.clear();
                        if text < candidate {
                            sink.text(&input[text..candidate], self.text);
                        }
                        return Ok(at);
                    }
                    self.script = Escape::Comment;
                    self.progress = Progress::Nothing;
                }
                Progress::StartTag if self.candidate == self.element && ends_name(byte) => {
                    self.script = Escape::Script;
                    self.progress = Progress::Nothing;
                }
                _ => self.progress = Progress::Nothing,
            }
            if self.progress == Progress::Nothing && !self.held.is_empty() {
                self.give_up_held(sink);
            }
        }
        if self.progress == Progress::Nothing {
            candidate = at;
        }
        if text < candidate {
            sink.text(&input[text..candidate], self.text);
        }
        self.held.extend_from_slice(&input[candidate..]);
        self.earlier.add(input);
        Err(())
    }

    /// The page ends within the element.
    pub(super) fn finish(&mut self, sink: &mut impl TokenSink) {
        self.give_up_held(sink);
    }

    fn begin(&mut self, progress: Progress) {
        self.progress = progress;
        self.candidate = Name::default();
        self.candidate_length = 0;
    }

    fn give_up_held(&mut self, sink: &mut impl TokenSink) {
        if !self.held.is_empty() {
            sink.text(&self.held, self.text);
            self.held.clear();
        }
    }

    fn may_escape(&self) -> bool {
        self.script == Escape::None && self.element == super::SCRIPT
    }

    /// Where the next `<` is. On the way, a comment in a script may end.
    fn next_less(&mut self, input: &[u8], at: usize) -> Option<usize> {
        let mut at = at;
        while self.script != Escape::None {
            at = find2(b'<', b'>', input, at)?;
            if input[at] == b'<' {
                return Some(at);
            }
            let is_end = match &input[..at] {
                [.., second, last] => [*second, *last] == *b"--",
                // Only what a slice has cut through takes putting together.
                begun => {
                    self.earlier.bytes().ends_with(&b"--"[begun.len()..])
                        && begun.iter().all(|&byte| byte == b'-')
                }
            };
            if is_end {
                self.script = Escape::None;
            }
            at += 1;
        }
        find(b'<', input, at)
    }
}
