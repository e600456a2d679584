//! The tags of a page.

use super::content::Content;
use super::foreign::Foreign;
use super::name::{self, Name, is_blank};
use super::raw_text::RawText;
use super::scan::{find, run};
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
            at = match self.state {
                State::Data => self.data(input, at, sink),
                _ => self.step(input, at, sink),
            };
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
                b'?' => self.go(State::Skipped(Skipped::BOGUS), at),
                _ => {
                    sink.text(b"<", Text::WithReferences);
                    self.go(State::Data, at)
                }
            },
            State::EndTagOpen => match byte {
                b'a'..=b'z' | b'A'..=b'Z' => self.begin_tag(true, input, at, sink),
                b'>' => self.go(State::Data, at + 1),
                _ => self.go(State::Skipped(Skipped::BOGUS), at),
            },
            State::TagName => self.tag_name(self.tag, input, at, sink),
            State::BeforeAttributeName => self.attributes(input, at, sink),
            State::AttributeName => {
                let end = self.attribute_name(self.attribute, input, at, sink);
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
                _ => self.go(State::Skipped(Skipped::BOGUS), at),
            },
            State::CommentOpen => match byte {
                b'-' => self.go(State::Skipped(Skipped::COMMENT), at + 1),
                _ => self.go(State::Skipped(Skipped::BOGUS), at),
            },
            State::CdataOpen { matched } => match CDATA.get(matched) {
                None => self.go(State::Skipped(Skipped::CDATA), at),
                Some(&next) if byte == next => {
                    self.go(State::CdataOpen { matched: matched + 1 }, at + 1)
                }
                Some(_) => self.go(State::Skipped(Skipped::BOGUS), at),
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

    /// Takes text, and the tag that ends it as far as it can be told from its
    /// first bytes.
    #[inline]
    fn data(&mut self, input: &[u8], at: usize, sink: &mut impl TokenSink) -> usize {
        let mut from = at;
        loop {
            let Some(less) = find(b'<', input, from) else {
                sink.text(&input[at..], Text::WithReferences);
                return input.len();
            };
            let next = input.get(less + 1);
            if next.is_some_and(u8::is_ascii_alphabetic) {
                if at < less {
                    sink.text(&input[at..less], Text::WithReferences);
                }
                self.tag_at = self.taken + less as u64;
                return self.begin_tag(false, input, less + 1, sink);
            }
            if matches!(next, None | Some(b'/' | b'!' | b'?')) {
                return self.markup(input, at, less, sink);
            }
            // It stands for itself.
            from = less + 1;
        }
    }

    /// Takes text from `at` to the `<` of something that is no start tag.
    #[inline(always)]
    fn markup(&mut self, input: &[u8], at: usize, less: usize, sink: &mut impl TokenSink) -> usize {
        if at < less {
            sink.text(&input[at..less], Text::WithReferences);
        }
        self.tag_at = self.taken + less as u64;
        match input[less + 1..] {
            [b'/', b'a'..=b'z' | b'A'..=b'Z', ..] => self.begin_tag(true, input, less + 2, sink),
            [b'!', b'-', b'-', ..] => self.skip(Skipped::COMMENT, input, less + 4),
            [b'!', byte, ..] if !matches!(byte, b'-' | b'[') => {
                self.skip(Skipped::BOGUS, input, less + 2)
            }
            _ => self.go(State::TagOpen, less + 1),
        }
    }

    /// Passes over what `skipped` is.
    #[inline]
    fn skip(&mut self, mut skipped: Skipped, input: &[u8], at: usize) -> usize {
        match skipped.end(input, at) {
            Some(end) => self.go(State::Data, end),
            None => self.go(State::Skipped(skipped), input.len()),
        }
    }

    #[inline(always)]
    fn begin_tag(
        &mut self,
        is_end_tag: bool,
        input: &[u8],
        at: usize,
        sink: &mut impl TokenSink,
    ) -> usize {
        self.is_end_tag = is_end_tag;
        self.ends_raw_text = false;
        self.tag_name(Name::default(), input, at, sink)
    }

    #[inline(always)]
    fn tag_name(
        &mut self,
        begun: Name,
        input: &[u8],
        at: usize,
        sink: &mut impl TokenSink,
    ) -> usize {
        let (tag, end) = begun.take(input, at, &name::TAG);
        self.tag = tag;
        match input.get(end) {
            None => self.go(State::TagName, end),
            Some(b'>') => self.end_of_tag(false, end + 1, sink),
            Some(_) => {
                self.wants_any = !self.is_end_tag && sink.wants_any(tag);
                self.attributes(input, end, sink)
            }
        }
    }

    /// Takes attributes from where one may begin to the end of the tag, or to
    /// one that a slice cuts through, or that has blanks within.
    fn attributes(&mut self, input: &[u8], at: usize, sink: &mut impl TokenSink) -> usize {
        let mut at = at;
        let is_self_closing = loop {
            let Some(&byte) = input.get(at) else {
                return self.go(State::BeforeAttributeName, at);
            };
            match byte {
                b'>' => break false,
                b'/' => match input.get(at + 1) {
                    None => return self.go(State::SelfClosingStartTag, at + 1),
                    Some(b'>') => break true,
                    Some(_) => at += 1,
                },
                _ if is_blank(byte) => at += 1,
                _ => {
                    let mut begun = Name::default();
                    if byte == b'=' {
                        // Here, it is the first byte of a name.
                        begun.append(byte);
                        at += 1;
                    }
                    at = self.attribute_name(begun, input, at, sink);
                    let (value, end) = match input[at..] {
                        [] => return self.go(State::AttributeName, at),
                        [b'=', quote @ (b'"' | b'\''), ..] => match find(quote, input, at + 2) {
                            None => return self.go(State::Quoted(quote), at + 2),
                            Some(end) => (&input[at + 2..end], end + 1),
                        },
                        [b'=', first, ..] if first != b'>' && !is_blank(first) => {
                            match end_of_unquoted(input, at + 1) {
                                None => return self.go(State::Unquoted, at + 1),
                                Some(end) => (&input[at + 1..end], end),
                            }
                        }
                        [b'>' | b'/', ..] => (&[][..], at),
                        _ => return self.go(State::AfterAttributeName, at),
                    };
                    self.value(value, sink);
                    at = end;
                }
            }
        };
        self.end_of_tag(is_self_closing, at + 1 + usize::from(is_self_closing), sink)
    }

    /// The name of an attribute goes on at `at`.
    #[inline(always)]
    fn attribute_name(
        &mut self,
        begun: Name,
        input: &[u8],
        at: usize,
        sink: &mut impl TokenSink,
    ) -> usize {
        if !self.wants_any {
            self.is_wanted = false;
            return run(input, at, |byte| name::ATTRIBUTE[usize::from(byte)] != name::NONE);
        }
        let (attribute, end) = begun.take(input, at, &name::ATTRIBUTE);
        self.attribute = attribute;
        self.is_wanted = end < input.len() && sink.wants(self.tag, attribute);
        end
    }

    // ANCHOR: quoted
    /// A value in quotes goes on at `at`.
    fn quoted(&mut self, quote: u8, input: &[u8], at: usize, sink: &mut impl TokenSink) -> usize {
        let Some(end) = find(quote, input, at) else {
            return self.value_goes_on(input, at);
        };
        self.value_ends(&input[at..end], sink);
        self.go(State::BeforeAttributeName, end + 1)
    }
    // ANCHOR_END: quoted

    /// A value without quotes goes on at `at`.
    fn unquoted(&mut self, input: &[u8], at: usize, sink: &mut impl TokenSink) -> usize {
        let Some(end) = end_of_unquoted(input, at) else {
            return self.value_goes_on(input, at);
        };
        self.value_ends(&input[at..end], sink);
        self.go(State::BeforeAttributeName, end)
    }

    /// The value takes up the rest of the slice, and goes on in the next.
    fn value_goes_on(&mut self, input: &[u8], at: usize) -> usize {
        self.keep_value(&input[at..]);
        input.len()
    }

    // ANCHOR: keep_value
    fn keep_value(&mut self, part: &[u8]) {
        if self.is_wanted && self.value.len() <= LONGEST_VALUE {
            // One byte too many tells that it was too long.
            let room = LONGEST_VALUE + 1 - self.value.len();
            self.value.extend_from_slice(&part[..part.len().min(room)]);
        }
    }
    // ANCHOR_END: keep_value

    /// The value ends, which may have begun in an earlier slice.
    fn value_ends(&mut self, rest: &[u8], sink: &mut impl TokenSink) {
        if self.value.is_empty() {
            return self.value(rest, sink);
        }
        self.keep_value(rest);
        let value = std::mem::take(&mut self.value);
        self.value(&value, sink);
    }

    #[inline]
    fn value(&mut self, value: &[u8], sink: &mut impl TokenSink) {
        if self.is_wanted {
            let is_too_long = value.len() > LONGEST_VALUE;
            let value = if is_too_long { Value::TooLong } else { Value::Whole(value) };
            sink.attribute(self.attribute, value);
        }
    }

    #[inline(always)]
    fn end_of_tag(
        &mut self,
        is_self_closing: bool,
        end: usize,
        sink: &mut impl TokenSink,
    ) -> usize {
        let (name, at) = (self.tag, self.tag_at);
        self.state = State::Data;
        if self.is_end_tag {
            if !self.ends_raw_text {
                self.foreign.end(name);
            }
            sink.end_tag(name);
            return end;
        }
        let content = Content::of(name);
        let is_foreign = if content == Content::Elements && self.foreign.is_empty() {
            // What nearly all elements are.
            false
        } else {
            self.enter(content, is_self_closing)
        };
        sink.start_tag(StartTag { name, at, is_self_closing, is_foreign });
        end
    }

    /// Reads what comes as the content of the present tag's element, which is
    /// `content` if it is one of HTML. Returns whether it is foreign.
    #[inline(never)]
    fn enter(&mut self, content: Content, is_self_closing: bool) -> bool {
        if self.foreign.start(self.tag, content, is_self_closing) {
            return true;
        }
        match content {
            Content::Text(how) => {
                self.raw_text = RawText::of(self.tag, how);
                self.state = State::RawText;
            }
            Content::Plaintext => self.state = State::Plaintext,
            Content::Elements | Content::Foreign(_) => {}
        }
        false
    }
}

fn end_of_unquoted(input: &[u8], at: usize) -> Option<usize> {
    let length = input[at..].iter().position(|&byte| byte == b'>' || is_blank(byte))?;
    Some(at + length)
}
