//! The referrers of a URL, each with the context of its link.

use std::mem;

use web::links::{Element, Link, Position};

/// The context of a link: the position, element and text of the first link to a
/// URL on one of its referrers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkContext<'a> {
    /// The position at which its tag begins.
    pub position: Position,
    /// The element of the link.
    pub element: Element,
    /// The visible text of the link: at most 80 characters, with single blanks.
    pub text: &'a str,
}

impl<'a> LinkContext<'a> {
    /// Returns the context of a link, if its position is known.
    pub(super) fn of(link: Link<'a>) -> Option<Self> {
        let Link { position, element, text, .. } = link;
        Some(Self { position: position?, element, text })
    }
}

/// A page or redirect that leads to a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Referrer<'a> {
    /// The URL of the page, or the URL that redirects and has referrers of its
    /// own.
    pub url: &'a str,
    /// The context of the link. There is none for a redirect, and none after the
    /// memory limit
    /// ([`MAX_LINK_CONTEXT_BYTES`](crate::Admission::MAX_LINK_CONTEXT_BYTES)).
    pub context: Option<LinkContext<'a>>,
}

/// The first referrers of one URL, packed into one allocation.
///
/// The encoding of one referrer: a byte with the number of its element plus one,
/// or zero if it has no link context; then, as a varint, the difference between
/// its number and that of the referrer before (delta encoding). With a link
/// context, the line, the column and the length of the text plus one follow as
/// varints, and then the text. If the text is the same as the first one, as it
/// mostly is, the length is zero and the text is omitted.
///
/// Unused bytes at the end are [`PADDING`]. The memory grows in the steps of
/// common allocators: 24 bytes, 40, 56.
#[derive(Debug, Default)]
pub(super) struct Referrers(Box<[u8]>);

/// The value of unused bytes. It cannot be mistaken for data: there are fewer
/// elements, no text in UTF-8 contains it, and no varint ends with it.
const PADDING: u8 = 0xff;

/// One referrer, as it is stored.
pub(super) struct ReferrerRecord<'a> {
    /// The difference between its number and that of the referrer before.
    pub(super) step: u32,
    /// Element, position and text of the link.
    pub(super) link: Option<(u8, Position, &'a [u8])>,
}

impl<'a> ReferrerRecord<'a> {
    pub(super) fn context(self) -> Option<LinkContext<'a>> {
        let (element, position, text) = self.link?;
        let text = std::str::from_utf8(text).ok()?;
        let element = *Element::ALL.get(usize::from(element))?;
        Some(LinkContext { position, element, text })
    }
}

impl Referrers {
    pub(super) fn first_byte(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// Returns the size of the allocation, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.0.len()
    }

    /// Adds a referrer whose number is `step` more than that of the one before.
    pub(super) fn add(&mut self, step: u32, context: Option<LinkContext<'_>>) {
        let first = self.records().find_map(|record| record.link).map(|(.., text)| text);
        let is_repeated = context.is_some_and(|context| first == Some(context.text.as_bytes()));
        let used = self.0.iter().rposition(|byte| *byte != PADDING).map_or(0, |last| last + 1);
        let bytes = record_len(step, context, is_repeated);
        let mut packed = mem::take(&mut self.0).into_vec();
        let capacity =
            packed.len().max((used + bytes).saturating_sub(8).next_multiple_of(16).max(16) + 8);
        packed.truncate(used);
        packed.reserve_exact(capacity - used);
        append_record(step, context, is_repeated, &mut packed);
        packed.resize(capacity, PADDING);
        self.0 = packed.into_boxed_slice();
    }

    /// Returns the referrers; the steps are counted from the number `first`.
    pub(super) fn iter(&self, first: u32) -> impl Iterator<Item = (u32, Option<LinkContext<'_>>)> {
        self.numbered(first).map(|(from, record)| (from, record.context()))
    }

    /// Returns the referrers without a link context: all redirects, and others.
    pub(super) fn without_context(&self, first: u32) -> impl Iterator<Item = u32> {
        let without = self.numbered(first).filter(|(_, record)| record.link.is_none());
        without.map(|(from, _)| from)
    }

    fn numbered(&self, first: u32) -> impl Iterator<Item = (u32, ReferrerRecord<'_>)> {
        let mut from = first;
        self.records().map(move |record| {
            from = from.wrapping_add(record.step);
            (from, record)
        })
    }

    fn records(&self) -> impl Iterator<Item = ReferrerRecord<'_>> {
        decode_records(&self.0, None)
    }
}

/// Returns the numbers of a link context in its record, and the text that follows
/// them: none if it is the same as the text of the first link.
fn context_fields(context: LinkContext<'_>, is_repeated: bool) -> ([u32; 3], &str) {
    let LinkContext { position, text, .. } = context;
    let text = if is_repeated { "" } else { text };
    let text_len = if is_repeated { 0 } else { text.len() as u32 + 1 };
    ([position.line, position.column, text_len], text)
}

/// Returns the length of a record, in bytes.
fn record_len(step: u32, context: Option<LinkContext<'_>>, is_repeated: bool) -> usize {
    let step = 1 + varint_len(zigzag(step));
    context.map_or(step, |context| {
        let (numbers, text) = context_fields(context, is_repeated);
        step + numbers.map(varint_len).iter().sum::<usize>() + text.len()
    })
}

/// Appends the record of a referrer. `is_repeated` is true if the text of its link
/// is the same as that of the first link.
pub(super) fn append_record(
    step: u32,
    context: Option<LinkContext<'_>>,
    is_repeated: bool,
    packed: &mut Vec<u8>,
) {
    packed.push(context.map_or(0, |context| context.element as u8 + 1));
    write_varint(zigzag(step), packed);
    if let Some(context) = context {
        let (numbers, text) = context_fields(context, is_repeated);
        numbers.iter().for_each(|number| write_varint(*number, packed));
        packed.extend_from_slice(text.as_bytes());
    }
}

/// Decodes records up to the unused bytes. `first_text` is the text of the first
/// link, if that comes before them.
pub(super) fn decode_records<'a>(
    mut rest: &'a [u8],
    first_text: Option<&'a str>,
) -> impl Iterator<Item = ReferrerRecord<'a>> {
    let mut first = first_text.map(str::as_bytes);
    std::iter::from_fn(move || {
        let (&tag, after) = rest.split_first().filter(|(tag, _)| **tag != PADDING)?;
        rest = after;
        let step = unzigzag(read_varint(&mut rest)?);
        let Some(element) = tag.checked_sub(1) else {
            return Some(ReferrerRecord { step, link: None });
        };
        let position = Position { line: read_varint(&mut rest)?, column: read_varint(&mut rest)? };
        let text = match read_varint(&mut rest)?.checked_sub(1) {
            None => first?,
            Some(bytes) => {
                let (text, after) = rest.split_at_checked(bytes as usize)?;
                rest = after;
                text
            }
        };
        first = first.or(Some(text));
        Some(ReferrerRecord { step, link: Some((element, position, text)) })
    })
}

/// Encodes a signed difference so that small negative numbers become small, too
/// (the ZigZag encoding of Protocol Buffers).
fn zigzag(step: u32) -> u32 {
    (step << 1) ^ (step as i32 >> 31) as u32
}

fn unzigzag(number: u32) -> u32 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// Appends a number as a varint (LEB128, as in the DWARF standard, section 7.6):
/// seven bits to a byte, the lowest first; the eighth bit is set if more bytes
/// follow.
fn write_varint(mut number: u32, packed: &mut Vec<u8>) {
    while number > 0x7f {
        packed.push(number as u8 | 0x80);
        number >>= 7;
    }
    packed.push(number as u8);
}

/// Returns the length of a number as a varint, in bytes.
fn varint_len(number: u32) -> usize {
    (number | 1).ilog2() as usize / 7 + 1
}

/// Reads a varint from the front.
fn read_varint(packed: &mut &[u8]) -> Option<u32> {
    let mut number = 0;
    for shift in (0..u32::BITS).step_by(7) {
        let (&byte, rest) = packed.split_first()?;
        *packed = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if byte <= 0x7f {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_numbered_in_order() {
        assert!((0..).zip(Element::ALL).all(|(n, element)| element as usize == n));
        assert!(Element::ALL.len() < usize::from(PADDING));
    }
}
