//! State machine that splits a page into tags and text.

use super::comment::Comment;
use super::content::Content;
use super::foreign::ForeignElements;
use super::name::{self, Name, is_blank};
use super::raw_text::RawText;
use super::scan::{find, position, run};
use super::{StartTag, Text, TokenSink, Value};

/// The longest attribute value, in bytes. A longer one is not kept.
pub const MAX_VALUE_LEN: usize = 64 * 1024;

/// A streaming HTML tokenizer, see [the module](super).
#[derive(Debug)]
pub struct Tokenizer {
    state: State,
    raw_text: RawText,
    foreign: ForeignElements,
    /// The length of all earlier slices, in bytes.
    consumed: u64,
    /// The offset of the current tag's `<`.
    tag_at: u64,
    tag: Name,
    is_end_tag: bool,
    /// True if the tag ends raw text, and thus the HTML element around that.
    ends_raw_text: bool,
    /// True if the sink may want an attribute of the tag.
    wants_any: bool,
    /// True if the page is XML, see [`Tokenizer::for_xml`].
    is_xml: bool,
    attribute: Name,
    /// True if the sink wants the value of the attribute.
    is_wanted: bool,
    /// The part of the value in earlier slices.
    value: Vec<u8>,
}

/// The state of the tokenizer: what the next byte belongs to. A state has its
/// name in the standard, unless it stands for several states there.
#[derive(Clone, Copy, Debug)]
enum State {
    Data,
    RawText,
    Plaintext,
    Comment(Comment),
    TagOpen,
    EndTagOpen,
    MarkupDeclarationOpen,
    /// After `<!-`.
    CommentOpen,
    /// After `<!` and the first `matched` bytes of [`CDATA`].
    CdataOpen {
        matched: usize,
    },
    TagName,
    BeforeAttributeName,
    AttributeName,
    AfterAttributeName,
    BeforeAttributeValue,
    /// In a value in these quotes.
    Quoted(u8),
    Unquoted,
    SelfClosingStartTag,
}

const CDATA: &[u8] = b"[CDATA[";
const STYLE: Name = Name::of(b"style");

impl Default for Tokenizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Tokenizer {
    /// Creates a tokenizer at the beginning of a page.
    pub fn new() -> Self {
        Self {
            state: State::Data,
            raw_text: RawText::default(),
            foreign: ForeignElements::default(),
            consumed: 0,
            tag_at: 0,
            tag: Name::default(),
            is_end_tag: false,
            ends_raw_text: false,
            wants_any: false,
            is_xml: false,
            attribute: Name::default(),
            is_wanted: false,
            value: Vec::new(),
        }
    }

    /// Creates a tokenizer of HTML in the form of XML: every element may close itself, and
    /// there are CDATA sections everywhere, and references and comments in a `style`. An
    /// element of HTML that closes itself has an end tag for the sink.
    pub fn for_xml() -> Self {
        Self { is_xml: true, ..Self::new() }
    }

    /// Creates a tokenizer within an element that holds nothing but text of this
    /// kind, up to its end tag. In a `script`, the rules for scripts apply.
    pub fn within(element: Name, kind: Text) -> Self {
        let raw_text = RawText::of(element, kind);
        Self { state: State::RawText, raw_text, ..Self::new() }
    }

    // ANCHOR: feed
    /// Takes the next slice of the page, cut anywhere. Malformed UTF-8 is passed
    /// on unchanged, in values and text.
    pub fn feed(&mut self, input: &[u8], sink: &mut impl TokenSink) {
        let mut at = 0;
        while at < input.len() {
            at = self.step(input, at, sink);
        }
        self.consumed += input.len() as u64;
    }
    // ANCHOR_END: feed

    /// Returns the length of all slices so far, in bytes.
    pub fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Returns the offset of the `<` of the tag that the end of the last slice
    /// cuts through, in bytes from the beginning of the page.
    pub fn open_tag(&self) -> Option<u64> {
        match self.state {
            State::Data | State::RawText | State::Plaintext | State::Comment(_) => None,
            _ => Some(self.tag_at),
        }
    }

    /// Ends the page. Markup that is not complete becomes text, or is dropped.
    pub fn finish(mut self, sink: &mut impl TokenSink) {
        match self.state {
            State::TagOpen => sink.text(b"<", Text::WithReferences),
            State::EndTagOpen => sink.text(b"</", Text::WithReferences),
            State::RawText => self.raw_text.finish(sink),
            _ => {}
        }
    }

    /// Takes at least one byte, or changes the state. Returns the index of the
    /// next byte to take.
    #[inline]
    fn step(&mut self, input: &[u8], at: usize, sink: &mut impl TokenSink) -> usize {
        let byte = input[at];
        match self.state {
            State::Data => self.data(input, at, sink),
            State::TagOpen => match byte {
                b'a'..=b'z' | b'A'..=b'Z' => {
                    index_of(self.begin_tag(false, input, &input[at..], sink), input)
                }
                b'/' => self.switch_to(State::EndTagOpen, at + 1),
                b'!' => self.switch_to(State::MarkupDeclarationOpen, at + 1),
                b'?' => self.switch_to(State::Comment(Comment::BOGUS), at),
                _ => {
                    sink.text(b"<", Text::WithReferences);
                    self.switch_to(State::Data, at)
                }
            },
            State::EndTagOpen => match byte {
                b'a'..=b'z' | b'A'..=b'Z' => {
                    index_of(self.begin_tag(true, input, &input[at..], sink), input)
                }
                b'>' => self.switch_to(State::Data, at + 1),
                _ => self.switch_to(State::Comment(Comment::BOGUS), at),
            },
            State::TagName => index_of(self.tag_name(self.tag, input, &input[at..], sink), input),
            State::BeforeAttributeName => self.attributes(input, at, sink),
            State::AttributeName => {
                let end = self.attribute_name(self.attribute, input, at, sink);
                if end < input.len() { self.switch_to(State::AfterAttributeName, end) } else { end }
            }
            State::AfterAttributeName => match byte {
                b'=' => self.switch_to(State::BeforeAttributeValue, at + 1),
                _ if is_blank(byte) => at + 1,
                _ => {
                    self.finish_value(b"", sink);
                    self.switch_to(State::BeforeAttributeName, at)
                }
            },
            State::BeforeAttributeValue => match byte {
                b'"' | b'\'' => self.switch_to(State::Quoted(byte), at + 1),
                b'>' => {
                    self.finish_value(b"", sink);
                    self.switch_to(State::BeforeAttributeName, at)
                }
                _ if is_blank(byte) => at + 1,
                _ => self.switch_to(State::Unquoted, at),
            },
            State::Quoted(quote) => self.quoted(quote, input, at, sink),
            State::Unquoted => self.unquoted(input, at, sink),
            State::SelfClosingStartTag => match byte {
                b'>' => {
                    self.emit_self_closing_tag(sink);
                    at + 1
                }
                _ => self.switch_to(State::BeforeAttributeName, at),
            },
            State::MarkupDeclarationOpen => match byte {
                b'-' => self.switch_to(State::CommentOpen, at + 1),
                b'[' if self.is_xml || self.foreign.may_hold_cdata() => {
                    self.switch_to(State::CdataOpen { matched: 1 }, at + 1)
                }
                _ => self.switch_to(State::Comment(Comment::BOGUS), at),
            },
            State::CommentOpen => match byte {
                b'-' => self.switch_to(State::Comment(Comment::COMMENT), at + 1),
                _ => self.switch_to(State::Comment(Comment::BOGUS), at),
            },
            State::CdataOpen { matched } => match CDATA.get(matched) {
                None => self.switch_to(State::Comment(Comment::CDATA), at),
                Some(&next) if byte == next => {
                    self.switch_to(State::CdataOpen { matched: matched + 1 }, at + 1)
                }
                Some(_) => self.switch_to(State::Comment(Comment::BOGUS), at),
            },
            State::Comment(comment) => {
                let end = self.skip(comment, input, at);
                if comment.is_cdata() {
                    sink.text(&input[at..end], Text::Raw);
                }
                end
            }
            State::RawText => match self.raw_text.feed(input, at, sink) {
                Ok(end) => {
                    self.tag = self.raw_text.element();
                    self.is_end_tag = true;
                    self.ends_raw_text = true;
                    self.wants_any = false;
                    self.switch_to(State::BeforeAttributeName, end)
                }
                Err(()) => input.len(),
            },
            State::Plaintext => {
                sink.text(&input[at..], Text::Raw);
                input.len()
            }
        }
    }

    /// Switches to `state`, and returns `at`.
    fn switch_to(&mut self, state: State, at: usize) -> usize {
        self.state = state;
        at
    }

    /// Takes text and markup, up to markup that changes the state.
    fn data(&mut self, input: &[u8], at: usize, sink: &mut impl TokenSink) -> usize {
        let mut rest = &input[at..];
        while !rest.is_empty() && matches!(self.state, State::Data) {
            rest = self.text_and_markup(input, rest, sink);
        }
        index_of(rest, input)
    }

    /// Takes text, and the markup behind it as far as its first bytes tell its
    /// kind. Returns the rest behind that.
    #[inline(always)]
    fn text_and_markup<'a>(
        &mut self,
        input: &'a [u8],
        rest: &'a [u8],
        sink: &mut impl TokenSink,
    ) -> &'a [u8] {
        let mut markup = rest;
        // A tag often follows a tag.
        if rest.first() != Some(&b'<') {
            let Some(length) = position(b'<', rest) else {
                sink.text(rest, Text::WithReferences);
                return &[];
            };
            sink.text(&rest[..length], Text::WithReferences);
            markup = &rest[length..];
        }
        let less = index_of(markup, input);
        self.tag_at = self.consumed + less as u64;
        match markup {
            [_, b'a'..=b'z' | b'A'..=b'Z', ..] => self.begin_tag(false, input, &markup[1..], sink),
            [_, b'/', b'a'..=b'z' | b'A'..=b'Z', ..] => {
                self.begin_tag(true, input, &markup[2..], sink)
            }
            [_, b'!', b'-', b'-', ..] => &input[self.skip(Comment::COMMENT, input, less + 4)..],
            [_, b'!', byte, ..] if !matches!(byte, b'-' | b'[') => {
                &input[self.skip(Comment::BOGUS, input, less + 2)..]
            }
            [_] | [_, b'/' | b'!' | b'?', ..] => &input[self.switch_to(State::TagOpen, less + 1)..],
            // This `<` is text; so are others that follow at once, except for the last.
            _ => {
                let length = run(markup, 0, |byte| byte == b'<').max(2) - 1;
                sink.text(&markup[..length], Text::WithReferences);
                &markup[length..]
            }
        }
    }

    /// Skips a comment, from `at` on.
    #[inline]
    fn skip(&mut self, mut comment: Comment, input: &[u8], at: usize) -> usize {
        match comment.end(input, at) {
            Some(end) => self.switch_to(State::Data, end),
            None => self.switch_to(State::Comment(comment), input.len()),
        }
    }

    /// Takes a tag from its name on, and returns the rest behind it.
    #[inline(always)]
    fn begin_tag<'a>(
        &mut self,
        is_end_tag: bool,
        input: &'a [u8],
        name: &'a [u8],
        sink: &mut impl TokenSink,
    ) -> &'a [u8] {
        self.is_end_tag = is_end_tag;
        self.ends_raw_text = false;
        self.tag_name(Name::default(), input, name, sink)
    }

    /// Continues a tag within its name, and returns the rest behind it.
    #[inline(always)]
    fn tag_name<'a>(
        &mut self,
        start: Name,
        input: &'a [u8],
        rest: &'a [u8],
        sink: &mut impl TokenSink,
    ) -> &'a [u8] {
        let (tag, mut rest) = start.take(rest, &name::TAG);
        self.tag = tag;
        if let [b'>', after @ ..] = rest {
            self.emit_tag(false, sink);
            return after;
        }
        if rest.is_empty() {
            self.state = State::TagName;
            return rest;
        }
        self.wants_any = !self.is_end_tag && sink.wants_any(tag);
        rest = self.plain_attributes(rest, sink);
        let (is_self_closing, after) = match rest {
            [b'>', after @ ..] => (false, after),
            // In XML, the end of the element has to be emitted as well.
            [b'/', b'>', after @ ..] | [b' ', b'/', b'>', after @ ..] if !self.is_xml => {
                (true, after)
            }
            _ => return &input[self.attributes(input, index_of(rest, input), sink)..],
        };
        self.emit_tag(is_self_closing, sink);
        after
    }

    /// Takes the attributes that are written as most are, and returns the rest behind
    /// them.
    #[inline(always)]
    fn plain_attributes<'a>(&self, rest: &'a [u8], sink: &mut impl TokenSink) -> &'a [u8] {
        let mut rest = rest;
        if self.wants_any {
            while let Some((name, value, after)) = plain_attribute(rest) {
                if sink.wants(self.tag, name) {
                    sink.attribute(name, Value::of(value));
                }
                rest = after;
            }
        } else {
            while let Some((_, _, after)) = plain_attribute(rest) {
                rest = after;
            }
        }
        rest
    }

    /// Takes the attributes from `at` to the end of the tag. Stops at an
    /// attribute that the slice cuts through, or that has a blank behind its
    /// name or its equals sign.
    #[inline(never)]
    fn attributes(&mut self, input: &[u8], at: usize, sink: &mut impl TokenSink) -> usize {
        let mut at = at;
        let is_self_closing = loop {
            let Some(&byte) = input.get(at) else {
                return self.switch_to(State::BeforeAttributeName, at);
            };
            match byte {
                b'>' => break false,
                b'/' => match input.get(at + 1) {
                    None => return self.switch_to(State::SelfClosingStartTag, at + 1),
                    Some(b'>') => break true,
                    Some(_) => at += 1,
                },
                _ if is_blank(byte) => at += 1,
                _ => match self.attribute(input, at, sink) {
                    Ok(end) => at = index_of(self.plain_attributes(&input[end..], sink), input),
                    Err(end) => return end,
                },
            }
        };
        if is_self_closing && self.is_xml {
            self.emit_self_closing_tag(sink);
        } else {
            self.emit_tag(is_self_closing, sink);
        }
        at + 1 + usize::from(is_self_closing)
    }

    /// Takes the attribute at `at`. Returns `Err` at one that the slice cuts through, or
    /// that has a blank behind its name or its equals sign.
    fn attribute(
        &mut self,
        input: &[u8],
        at: usize,
        sink: &mut impl TokenSink,
    ) -> Result<usize, usize> {
        let mut at = at;
        let mut start = Name::default();
        if input[at] == b'=' {
            // At this point, `=` is the first byte of a name.
            start.append(b'=');
            at += 1;
        }
        at = self.attribute_name(start, input, at, sink);
        let (value, end) = match input[at..] {
            [] => return Err(self.switch_to(State::AttributeName, at)),
            [b'=', quote @ (b'"' | b'\''), ..] => match find(quote, input, at + 2) {
                None => return Err(self.switch_to(State::Quoted(quote), at + 2)),
                Some(end) => (&input[at + 2..end], end + 1),
            },
            [b'=', first, ..] if first != b'>' && !is_blank(first) => {
                match end_of_unquoted(input, at + 1) {
                    None => return Err(self.switch_to(State::Unquoted, at + 1)),
                    Some(end) => (&input[at + 1..end], end),
                }
            }
            [b'>' | b'/', ..] => (&[][..], at),
            _ => return Err(self.switch_to(State::AfterAttributeName, at)),
        };
        self.emit_value(value, sink);
        Ok(end)
    }

    /// Continues the name of an attribute at `at`.
    #[inline(always)]
    fn attribute_name(
        &mut self,
        start: Name,
        input: &[u8],
        at: usize,
        sink: &mut impl TokenSink,
    ) -> usize {
        if !self.wants_any {
            self.is_wanted = false;
            return run(input, at, |byte| name::ATTRIBUTE[usize::from(byte)] != name::NONE);
        }
        let (attribute, rest) = start.take(&input[at..], &name::ATTRIBUTE);
        self.attribute = attribute;
        self.is_wanted = !rest.is_empty() && sink.wants(self.tag, attribute);
        index_of(rest, input)
    }

    // ANCHOR: quoted
    /// Continues a value in quotes at `at`.
    fn quoted(
        &mut self,
        end_quote: u8,
        input: &[u8],
        at: usize,
        sink: &mut impl TokenSink,
    ) -> usize {
        let Some(end) = find(end_quote, input, at) else {
            return self.continue_value(input, at);
        };
        self.finish_value(&input[at..end], sink);
        self.switch_to(State::BeforeAttributeName, end + 1)
    }
    // ANCHOR_END: quoted

    /// Continues a value without quotes at `at`.
    fn unquoted(&mut self, input: &[u8], at: usize, sink: &mut impl TokenSink) -> usize {
        let Some(end) = end_of_unquoted(input, at) else {
            return self.continue_value(input, at);
        };
        self.finish_value(&input[at..end], sink);
        self.switch_to(State::BeforeAttributeName, end)
    }

    /// Keeps the rest of the slice for a value that continues in the next one.
    fn continue_value(&mut self, input: &[u8], at: usize) -> usize {
        self.keep_value(&input[at..]);
        input.len()
    }

    // ANCHOR: keep_value
    fn keep_value(&mut self, part: &[u8]) {
        if self.is_wanted && self.value.len() <= MAX_VALUE_LEN {
            // One byte more than allowed marks a value that is too long.
            let room = MAX_VALUE_LEN + 1 - self.value.len();
            self.value.extend_from_slice(&part[..part.len().min(room)]);
        }
    }
    // ANCHOR_END: keep_value

    /// Ends a value, which may have begun in an earlier slice.
    fn finish_value(&mut self, rest: &[u8], sink: &mut impl TokenSink) {
        if self.value.is_empty() {
            return self.emit_value(rest, sink);
        }
        self.keep_value(rest);
        let value = std::mem::take(&mut self.value);
        self.emit_value(&value, sink);
    }

    fn emit_value(&mut self, value: &[u8], sink: &mut impl TokenSink) {
        if self.is_wanted {
            sink.attribute(self.attribute, Value::of(value));
        }
    }

    /// Emits a tag that ends in `/>`, and in XML the end of its element if that is HTML.
    #[cold]
    fn emit_self_closing_tag(&mut self, sink: &mut impl TokenSink) {
        let begins_html = self.emit_tag(true, sink);
        if begins_html && self.is_xml {
            sink.end_tag(self.tag);
        }
    }

    /// Emits a tag. Returns true if it begins an HTML element.
    #[inline(always)]
    fn emit_tag(&mut self, is_self_closing: bool, sink: &mut impl TokenSink) -> bool {
        let (name, at) = (self.tag, self.tag_at);
        self.state = State::Data;
        if self.is_end_tag {
            if !self.ends_raw_text {
                self.foreign.end_tag(name);
            }
            sink.end_tag(name);
            return false;
        }
        let content = Content::of(name);
        let is_foreign = if content == Content::Elements && self.foreign.is_empty() {
            // This is the case for nearly all elements.
            false
        } else {
            self.enter(content, is_self_closing)
        };
        sink.start_tag(StartTag { name, at, is_self_closing, is_foreign });
        !is_foreign
    }

    /// Switches to the content of the current tag's element; `content` is the
    /// content model of its name in HTML. Returns true if the element is foreign.
    #[inline(never)]
    fn enter(&mut self, content: Content, is_self_closing: bool) -> bool {
        if self.foreign.start_tag(self.tag, content, is_self_closing) {
            return true;
        }
        match content {
            _ if self.is_xml && is_self_closing => {}
            // There it has references and comments.
            Content::Text(_) if self.is_xml && self.tag == STYLE => {}
            Content::Text(kind) => {
                self.raw_text = RawText::of(self.tag, kind);
                self.state = State::RawText;
            }
            Content::Plaintext => self.state = State::Plaintext,
            Content::Elements | Content::Foreign(_) => {}
        }
        false
    }
}

/// Returns the name and the value of an attribute that is written as most are, and the
/// rest behind it: a space, up to seven lower-case letters, and a value in double quotes.
#[inline(always)]
fn plain_attribute(rest: &[u8]) -> Option<(Name, &[u8], &[u8])> {
    let [b' ', head @ ..] = rest.first_chunk::<10>()? else { return None };
    let (name, length) = Name::first(head.first_chunk()?)?;
    if head.get(length..length + 2)? != b"=\"" {
        return None;
    }
    let value = &rest[1 + length + 2..];
    let (value, after) = value.split_at(position(b'"', value)?);
    Some((name, value, &after[1..]))
}

/// Returns the index at which `rest`, the end of `input`, begins.
#[inline(always)]
fn index_of(rest: &[u8], input: &[u8]) -> usize {
    input.len() - rest.len()
}

fn end_of_unquoted(input: &[u8], at: usize) -> Option<usize> {
    let length = input[at..].iter().position(|&byte| byte == b'>' || is_blank(byte))?;
    Some(at + length)
}
