//! Raw text: the content of elements in which only their own end tag has a
//! meaning.

use super::name::{self, Name, ends_name};
use super::scan::{find, find2};
use super::tail::Tail;
use super::{Text, TokenSink};

/// The longest name to compare, in bytes. All elements that hold text have
/// shorter names.
const MAX_LEN: usize = 16;

/// Scanner of the content of a `style`, `title`, `script` or similar element
/// (HTML standard, sections 13.2.5.2 to 13.2.5.31).
///
/// A script may contain a comment, which hid it from very old browsers. In that
/// comment there may be another script, whose end tag does not end the outer
/// one.
#[derive(Debug, Default)]
pub(super) struct RawText {
    element: Name,
    text: Text,
    script: Escape,
    matched: Matched,
    /// The name read so far of what may be the end tag.
    candidate: Name,
    candidate_length: usize,
    /// The part of the candidate in earlier slices, `<` included. It is text,
    /// unless the candidate is the end tag.
    held: Vec<u8>,
    /// The last bytes of earlier slices.
    earlier: Tail,
}

/// The escape level of a script: what surrounds the current position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    /// A comment.
    Comment,
    /// A script in a comment.
    Script,
}

/// The part of a significant sequence that is matched so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Matched {
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
    /// Creates a scanner at the beginning of the content of `element`.
    pub(super) fn of(element: Name, text: Text) -> Self {
        Self { element, text, ..Self::default() }
    }

    /// Returns the name of the element whose content this is.
    pub(super) fn element(&self) -> Name {
        self.element
    }

    /// Reads `input` from `at` on. Returns `Ok` with the index behind the name of
    /// the end tag, or `Err` if the input ended before that.
    pub(super) fn feed(
        &mut self,
        input: &[u8],
        mut at: usize,
        sink: &mut impl TokenSink,
    ) -> Result<usize, ()> {
        // `text` is the index of the first byte not yet passed to the sink, and
        // `candidate` that of the candidate's first byte. If bytes are held, they
        // are the beginning of a candidate that continues here.
        let text = at;
        let mut candidate = at;
        while let Some(&byte) = input.get(at) {
            match self.matched {
                Matched::Nothing => {
                    let Some(less) = self.next_less(input, at) else {
                        self.earlier.add(input);
                        sink.text(&input[text..], self.text);
                        return Err(());
                    };
                    candidate = less;
                    at = less + 1;
                    self.matched = Matched::Less;
                }
                Matched::Less if byte == b'/' => {
                    self.begin(Matched::EndTag);
                    at += 1;
                }
                Matched::Less if byte == b'!' && self.may_escape() => {
                    self.matched = Matched::Bang;
                    at += 1;
                }
                Matched::Less if byte.is_ascii_alphabetic() && self.script == Escape::Comment => {
                    self.begin(Matched::StartTag);
                }
                Matched::Bang if byte == b'-' => {
                    self.matched = Matched::BangDash;
                    at += 1;
                }
                Matched::BangDash if byte == b'-' => {
                    self.script = Escape::Comment;
                    self.matched = Matched::Nothing;
                    at += 1;
                }
                Matched::EndTag | Matched::StartTag
                    if byte.is_ascii_alphabetic() && self.candidate_length < MAX_LEN =>
                {
                    let longest = at + MAX_LEN - self.candidate_length;
                    let letters = &input[at..longest.min(input.len())];
                    let (candidate, rest) = self.candidate.take(letters, &name::ALPHABETIC);
                    self.candidate = candidate;
                    let length = letters.len() - rest.len();
                    self.candidate_length += length;
                    at += length;
                }
                Matched::EndTag if self.candidate == self.element && ends_name(byte) => {
                    if self.script != Escape::Script {
                        self.held.clear();
                        if text < candidate {
                            sink.text(&input[text..candidate], self.text);
                        }
                        return Ok(at);
                    }
                    self.script = Escape::Comment;
                    self.matched = Matched::Nothing;
                }
                Matched::StartTag if self.candidate == self.element && ends_name(byte) => {
                    self.script = Escape::Script;
                    self.matched = Matched::Nothing;
                }
                _ => self.matched = Matched::Nothing,
            }
            if self.matched == Matched::Nothing && !self.held.is_empty() {
                self.flush_held(sink);
            }
        }
        if self.matched == Matched::Nothing {
            candidate = at;
        }
        if text < candidate {
            sink.text(&input[text..candidate], self.text);
        }
        self.held.extend_from_slice(&input[candidate..]);
        self.earlier.add(input);
        Err(())
    }

    /// Ends the page within the element.
    pub(super) fn finish(&mut self, sink: &mut impl TokenSink) {
        self.flush_held(sink);
    }

    fn begin(&mut self, matched: Matched) {
        self.matched = matched;
        self.candidate = Name::default();
        self.candidate_length = 0;
    }

    /// Passes the held bytes on as text.
    fn flush_held(&mut self, sink: &mut impl TokenSink) {
        if !self.held.is_empty() {
            sink.text(&self.held, self.text);
            self.held.clear();
        }
    }

    fn may_escape(&self) -> bool {
        self.script == Escape::None && self.element == super::SCRIPT
    }

    /// Returns the index of the next `<`, and notes the end of a comment in a
    /// script on the way.
    fn next_less(&mut self, input: &[u8], at: usize) -> Option<usize> {
        let mut at = at;
        while self.script != Escape::None {
            at = find2(b'<', b'>', input, at)?;
            if input[at] == b'<' {
                return Some(at);
            }
            let is_end = match &input[..at] {
                [.., second, tail] => [*second, *tail] == *b"--",
                // The dashes may be in earlier slices.
                start => {
                    self.earlier.bytes().ends_with(&b"--"[start.len()..])
                        && start.iter().all(|&byte| byte == b'-')
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
