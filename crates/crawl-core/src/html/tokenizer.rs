//! The tags of a page.

use memchr::memchr;

use super::foreign::Foreign;
use super::name::{self, Name, is_blank};
use super::raw_text::{RawText, text_within};
use super::skipped::Skipped;
use super::{StartTag, Text, TokenSink, Value};

/// How many bytes the value of an attribute may have.
pub const LONGEST_VALUE: usize = 64 * 1024;

/// Takes a page apart, see [the module](super).
#[derive(Debug)]
pub struct Tokenizer {
    state: State,
    raw_text: RawText,
    foreign: Foreign,
    /// How much text came in earlier slices.
    taken: u64,
    /// Where the present tag begins.
    tag_at: u64,
    tag: Name,
    is_end_tag: bool,
    /// Whether it ends raw text, and so the HTML element that held that.
    ends_raw_text: bool,
    /// Whether somebody may want an attribute of it.
    wants_any: bool,
    attribute: Name,
    /// Whether somebody wants its value.
    is_wanted: bool,
    /// What of the value lay in earlier slices.
    value: Vec<u8>,
}

/// What the next byte belongs to. The names are those of the standard, where
/// it has only one state for the same.
#[derive(Clone, Copy, Debug)]
enum State {
    Data,
    RawText,
    Plaintext,
    Skipped(Skipped),
    TagOpen,
    EndTagOpen,
    MarkupDeclarationOpen,
    /// Behind `<!-`.
    CommentOpen,
    /// Behind `<!`, and so many bytes of [`CDATA`].
    CdataOpen {
        matched: usize,
    },
    TagName,
    BeforeAttributeName,
    AttributeName,
    AfterAttributeName,
    BeforeAttributeValue,
    /// In quotes of this kind.
    Quoted(u8),
    Unquoted,
    SelfClosingStartTag,
}

const PLAINTEXT: Name = Name::of(b"plaintext");

const CDATA: &[u8] = b"[CDATA[";

impl Default for Tokenizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Tokenizer {
    /// At the beginning of a page.
    pub fn new() -> Self {
        Self {
            state: State::Data,
            raw_text: RawText::default(),
            foreign: Foreign::default(),
            taken: 0,
            tag_at: 0,
            tag: Name::default(),
            is_end_tag: false,
            ends_raw_text: false,
            wants_any: false,
            attribute: Name::default(),
            is_wanted: false,
            value: Vec::new(),
        }
    }

    /// In an element that holds nothing but text, to be read like this, up to its
    /// end tag. A `script` is read as one.
    pub fn within(element: Name, how: Text) -> Self {
        let raw_text = RawText::of(element, how);
        Self { state: State::RawText, raw_text, ..Self::new() }
    }

    // ANCHOR: feed
    /// Takes the next text, cut anywhere. It is UTF-8, or nearly: what is
    /// malformed is passed on in values and text.
    pub fn feed(&mut self, input: &[u8], sink: &mut impl TokenSink) {
        let mut at = 0;
        while at < input.len() {
            at = self.step(input, at, sink);
        }
        self.taken += input.len() as u64;
    }
    // ANCHOR_END: feed

    /// How much text came so far, in bytes.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Where the `<` is of the tag that the last slice has cut through, in
    /// bytes from the beginning of the text.
    pub fn open_tag(&self) -> Option<u64> {
        match self.state {
            State::Data | State::RawText | State::Plaintext | State::Skipped(_) => None,
            _ => Some(self.tag_at),
        }
    }

    /// The page ends here. What was begun is text, or nothing.
    pub fn finish(mut self, sink: &mut impl TokenSink) {
        match self.state {
            State::TagOpen => sink.text(b"<", Text::WithReferences),
            State::EndTagOpen => sink.text(b"</", Text::WithReferences),
            State::RawText => self.raw_text.finish(sink),
            _ => {}
        }
    }

    /// Takes at least one byte, or changes the state. Returns where to go on.
    #[inline]
    fn step(&mut self, input: &[u8], at: usize, sink: &mut impl TokenSink) -> usize {
        let byte = input[at];
        match self.state {
            State::Data => self.data(input, at, sink),
            State::TagOpen => match byte {
                b'a'..=b'z' | b'A'..=b'Z' => self.begin_tag(false, input, at, sink),
                b'/' => self.go(State::EndTagOpen, at + 1),
                b'!' => self.go(State::MarkupDeclarationOpen, at + 1),
                b'?' => self.skip(Skipped::Bogus, input, at),
                _ => {
                    sink.text(b"<", Text::WithReferences);
                    self.go(State::Data, at)
                }
            },
            State::EndTagOpen => match byte {
                b'a'..=b'z' | b'A'..=b'Z' => self.begin_tag(true, input, at, sink),
                b'>' => self.go(State::Data, at + 1),
                _ => self.skip(Skipped::Bogus, input, at),
            },
            State::TagName => self.tag_name(input, at, sink),
            State::BeforeAttributeName => self.attributes(input, at, sink),
            State::AttributeName => {
                let end = self.attribute_name(input, at, sink);
                if end < input.len() { self.go(State::AfterAttributeName, end) } else { end }
            }
            State::AfterAttributeName => match byte {
                b'=' => self.go(State::BeforeAttributeValue, at + 1),
                _ if is_blank(byte) => at + 1,
                _ => {
                    self.value_ends(b"", sink);
                    self.go(State::BeforeAttributeName, at)
                }
            },
            State::BeforeAttributeValue => match byte {
                b'"' | b'\'' => self.go(State::Quoted(byte), at + 1),
                b'>' => {
                    self.value_ends(b"", sink);
                    self.go(State::BeforeAttributeName, at)
                }
                _ if is_blank(byte) => at + 1,
                _ => self.go(State::Unquoted, at),
            },
            State::Quoted(quote) => self.quoted(quote, input, at, sink),
            State::Unquoted => self.unquoted(input, at, sink),
            State::SelfClosingStartTag => match byte {
                b'>' => self.end_of_tag(true, at + 1, sink),
                _ => self.go(State::BeforeAttributeName, at),
            },
            State::MarkupDeclarationOpen => match byte {
                b'-' => self.go(State::CommentOpen, at + 1),
                b'[' if self.foreign.is_here() => self.go(State::CdataOpen { matched: 1 }, at + 1),
                _ => self.skip(Skipped::Bogus, input, at),
            },
            State::CommentOpen => match byte {
                b'-' => self.skip(Skipped::COMMENT, input, at + 1),
                _ => self.skip(Skipped::Bogus, input, at),
            },
            State::CdataOpen { matched } => match CDATA.get(matched) {
                None => self.skip(Skipped::CDATA, input, at),
                Some(&next) if byte == next => {
                    self.go(State::CdataOpen { matched: matched + 1 }, at + 1)
                }
                Some(_) => self.skip(Skipped::Bogus, input, at),
            },
            State::Skipped(skipped) => self.skip(skipped, input, at),
            State::RawText => match self.raw_text.feed(input, at, sink) {
                Ok(end) => {
                    self.tag = self.raw_text.element();
                    self.is_end_tag = true;
                    self.ends_raw_text = true;
                    self.wants_any = false;
                    self.go(State::BeforeAttributeName, end)
                }
                Err(()) => input.len(),
            },
            State::Plaintext => {
                sink.text(&input[at..], Text::Literal);
                input.len()
            }
        }
    }

    fn go(&mut self, state: State, at: usize) -> usize {
        self.state = state;
        at
    }

    /// Takes text, and the tag that ends it if it can be told from its first two
    /// bytes.
    #[inline]
    fn data(&mut self, input: &[u8], at: usize, sink: &mut impl TokenSink) -> usize {
        let mut from = at;
        loop {
            let Some(less) = next_less(input, from) else {
                sink.text(&input[at..], Text::WithReferences);
                return input.len();
            };
            let next = input.get(less + 1);
            if let Some(&first) = next
                && !first.is_ascii_alphabetic()
                && !matches!(first, b'/' | b'!' | b'?')
            {
                // It stands for itself.
                from = less + 1;
                continue;
            }
            if at < less {
                sink.text(&input[at..less], Text::WithReferences);
            }
            self.tag_at = self.taken + less as u64;
            return match (next, input.get(less + 2)) {
                (Some(b'a'..=b'z' | b'A'..=b'Z'), _) => {
                    self.begin_tag(false, input, less + 1, sink)
                }
                (Some(b'/'), Some(b'a'..=b'z' | b'A'..=b'Z')) => {
                    self.begin_tag(true, input, less + 2, sink)
                }
                (Some(b'!'), Some(b'-')) if input.get(less + 3) == Some(&b'-') => {
                    self.skip(Skipped::COMMENT, input, less + 4)
                }
                _ => self.go(State::TagOpen, less + 1),
            };
        }
    }

    /// Passes over what `skipped` is.
    fn skip(&mut self, skipped: Skipped, input: &[u8], at: usize) -> usize {
        let mut skipped = skipped;
        match skipped.end(input, at) {
            Some(end) => self.go(State::Data, end),
            None => self.go(State::Skipped(skipped), input.len()),
        }
    }

    fn begin_tag(
        &mut self,
        is_end_tag: bool,
        input: &[u8],
        at: usize,
        sink: &mut impl TokenSink,
    ) -> usize {
        self.tag = Name::default();
        self.is_end_tag = is_end_tag;
        self.ends_raw_text = false;
        self.tag_name(input, at, sink)
    }

    #[inline]
    fn tag_name(&mut self, input: &[u8], at: usize, sink: &mut impl TokenSink) -> usize {
        let end = self.tag.take(input, at, &name::TAG);
        if end == input.len() {
            return self.go(State::TagName, end);
        }
        self.wants_any = !self.is_end_tag && sink.wants_any(self.tag);
        self.attributes(input, end, sink)
    }

    /// Takes attributes from where one may begin to the end of the tag, or to
    /// one that is not simply a name and a value in quotes.
    fn attributes(&mut self, input: &[u8], at: usize, sink: &mut impl TokenSink) -> usize {
        let mut at = at;
        while let Some(&byte) = input.get(at) {
            match byte {
                b'>' => return self.end_of_tag(false, at + 1, sink),
                b'/' => match input.get(at + 1) {
                    None => return self.go(State::SelfClosingStartTag, at + 1),
                    Some(b'>') => return self.end_of_tag(true, at + 2, sink),
                    Some(_) => at += 1,
                },
                _ if is_blank(byte) => at += 1,
                _ => {
                    self.attribute = Name::default();
                    if byte == b'=' {
                        // Here, it is the first byte of a name.
                        self.attribute.append(byte);
                        at += 1;
                    }
                    at = self.attribute_name(input, at, sink);
                    match (input.get(at), input.get(at + 1)) {
                        (None, _) => return self.go(State::AttributeName, at),
                        (Some(b'='), Some(&quote @ (b'"' | b'\''))) => {
                            at = self.quoted(quote, input, at + 2, sink);
                            if at == input.len() {
                                return at;
                            }
                        }
                        (Some(b'='), Some(&first)) if first != b'>' && !is_blank(first) => {
                            at = self.unquoted(input, at + 1, sink);
                            if at == input.len() {
                                return at;
                            }
                        }
                        (Some(b'>' | b'/'), _) => self.value_ends(b"", sink),
                        _ => return self.go(State::AfterAttributeName, at),
                    }
                }
            }
        }
        self.go(State::BeforeAttributeName, at)
    }

    /// The name of an attribute goes on at `at`.
    #[inline]
    fn attribute_name(&mut self, input: &[u8], at: usize, sink: &mut impl TokenSink) -> usize {
        if !self.wants_any {
            self.is_wanted = false;
            return run(input, at, |byte| name::ATTRIBUTE[usize::from(byte)] != name::NONE);
        }
        let end = self.attribute.take(input, at, &name::ATTRIBUTE);
        self.is_wanted = end < input.len() && sink.wants(self.tag, self.attribute);
        end
    }

    // ANCHOR: quoted
    /// A value in quotes goes on at `at`.
    #[inline]
    fn quoted(&mut self, quote: u8, input: &[u8], at: usize, sink: &mut impl TokenSink) -> usize {
        match memchr(quote, &input[at..]) {
            None => {
                self.value_goes_on(&input[at..]);
                self.go(State::Quoted(quote), input.len())
            }
            Some(length) => {
                self.value_ends(&input[at..at + length], sink);
                self.go(State::BeforeAttributeName, at + length + 1)
            }
        }
    }
    // ANCHOR_END: quoted

    /// A value without quotes goes on at `at`.
    #[inline]
    fn unquoted(&mut self, input: &[u8], at: usize, sink: &mut impl TokenSink) -> usize {
        let end = run(input, at, |byte| byte != b'>' && !is_blank(byte));
        if end == input.len() {
            self.value_goes_on(&input[at..]);
            return self.go(State::Unquoted, end);
        }
        self.value_ends(&input[at..end], sink);
        self.go(State::BeforeAttributeName, end)
    }

    // ANCHOR: value_goes_on
    /// The value goes on in the next slice.
    fn value_goes_on(&mut self, part: &[u8]) {
        if self.is_wanted && self.value.len() <= LONGEST_VALUE {
            // One byte too many tells that it was too long.
            let room = LONGEST_VALUE + 1 - self.value.len();
            self.value.extend_from_slice(&part[..part.len().min(room)]);
        }
    }
    // ANCHOR_END: value_goes_on

    fn value_ends(&mut self, rest: &[u8], sink: &mut impl TokenSink) {
        if !self.is_wanted {
            return;
        }
        if self.value.is_empty() && rest.len() <= LONGEST_VALUE {
            sink.attribute(self.attribute, Value::Whole(rest));
            return;
        }
        self.value_goes_on(rest);
        let value = match &*self.value {
            value if value.len() <= LONGEST_VALUE => Value::Whole(value),
            _ => Value::TooLong,
        };
        sink.attribute(self.attribute, value);
        self.value = Vec::new();
    }

    /// Reads the content of an HTML element as that is read.
    #[inline]
    fn enter(&mut self, element: Name) {
        self.state = match text_within(element) {
            Some(how) => {
                self.raw_text = RawText::of(element, how);
                State::RawText
            }
            None if element == PLAINTEXT => State::Plaintext,
            None => State::Data,
        };
    }

    #[inline]
    fn end_of_tag(
        &mut self,
        is_self_closing: bool,
        end: usize,
        sink: &mut impl TokenSink,
    ) -> usize {
        self.state = State::Data;
        if self.is_end_tag {
            if !self.ends_raw_text {
                self.foreign.end(self.tag);
            }
            sink.end_tag(self.tag);
            return end;
        }
        let is_foreign = self.foreign.start(self.tag, is_self_closing);
        if !is_foreign {
            self.enter(self.tag);
        }
        let (name, at) = (self.tag, self.tag_at);
        sink.start_tag(StartTag { name, at, is_self_closing, is_foreign });
        end
    }
}

/// Where the next `<` is. Where a tag follows on a tag, it is here.
#[inline]
fn next_less(input: &[u8], at: usize) -> Option<usize> {
    if input.get(at) == Some(&b'<') { Some(at) } else { Some(at + memchr(b'<', input.get(at..)?)?) }
}

/// The end of the run of bytes from `at` on of which `belongs` holds.
fn run(input: &[u8], at: usize, belongs: impl Fn(u8) -> bool) -> usize {
    let length = input[at..].iter().position(|&byte| !belongs(byte));
    length.map_or(input.len(), |length| at + length)
}
