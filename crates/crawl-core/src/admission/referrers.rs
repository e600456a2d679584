//! The referrers of a URL, each with the context of its link.

use std::io::Write;

use super::block_pool::{BlockId, BlockPool};
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

/// The first referrers of one URL, packed into one block of a pool.
///
/// The encoding of one referrer: a byte with the number of its element plus one,
/// or zero if it has no link context; then, as a varint, the difference between
/// its number and that of the referrer before (delta encoding). With a link
/// context, the line, the column and the length of the text plus one follow as
/// varints, and then the text. If the text is the same as the first one, as it
/// mostly is, the length is zero and the text is omitted.
///
/// Unused bytes at the end are [`PADDING`].
#[derive(Debug, Default)]
pub(super) struct Referrers(Option<BlockId>);

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
    /// Returns the block, which is empty if there is none.
    pub(super) fn packed<'a>(&self, pool: &'a BlockPool) -> &'a [u8] {
        self.0.map_or(&[], |id| pool.get(id))
    }

    /// Returns the size of the block, in bytes.
    pub(super) fn bytes(&self, pool: &BlockPool) -> usize {
        self.packed(pool).len()
    }

    /// Adds a referrer of the URL with the number `owner`. Its own number is `step` more
    /// than that of the one before. It is left out if there is no block large enough.
    pub(super) fn add(
        &mut self,
        step: u32,
        context: Option<LinkContext<'_>>,
        owner: u32,
        pool: &mut BlockPool,
    ) {
        let packed = self.packed(pool);
        let first = decode_records(packed, None).find_map(|record| record.link);
        let first = first.map(|(.., text)| text);
        let is_repeated = context.is_some_and(|context| first == Some(context.text.as_bytes()));
        let used = packed.iter().rposition(|byte| *byte != PADDING).map_or(0, |last| last + 1);
        let needed = used + record_len(step, context, is_repeated);
        let block = match self.0 {
            Some(id) if needed <= packed.len() => Some(id),
            Some(id) => pool.grow(id, needed, owner, PADDING),
            None => pool.allocate(needed, owner, PADDING),
        };
        let Some(id) = block else { return };
        self.0 = block;
        let mut unused = &mut pool.get_mut(id)[used..];
        append_record(step, context, is_repeated, &mut unused);
    }

    /// Records that the block has moved.
    pub(super) fn set_block(&mut self, id: BlockId) {
        self.0 = Some(id);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Gives the block back, and returns its size in bytes.
    pub(super) fn free(&mut self, pool: &mut BlockPool) -> usize {
        self.0.take().map_or(0, |id| pool.free(id))
    }

    /// Returns the referrers; the steps are counted from the number `first`.
    pub(super) fn iter<'a>(
        &self,
        first: u32,
        pool: &'a BlockPool,
    ) -> impl Iterator<Item = (u32, Option<LinkContext<'a>>)> + use<'a> {
        let mut from = first;
        decode_records(self.packed(pool), None).map(move |record| {
            from = from.wrapping_add(record.step);
            (from, record.context())
        })
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

/// Appends the record of a referrer to what has room for it. `is_repeated` is true if
/// the text of its link is the same as that of the first link.
pub(super) fn append_record(
    step: u32,
    context: Option<LinkContext<'_>>,
    is_repeated: bool,
    packed: &mut impl Write,
) {
    append(&[context.map_or(0, |context| context.element as u8 + 1)], packed);
    append_varint(zigzag(step), packed);
    if let Some(context) = context {
        let (numbers, text) = context_fields(context, is_repeated);
        numbers.iter().for_each(|number| append_varint(*number, packed));
        append(text.as_bytes(), packed);
    }
}

fn append(bytes: &[u8], packed: &mut impl Write) {
    // Memory that has room for it takes all.
    let _ = packed.write_all(bytes);
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
fn append_varint(mut number: u32, packed: &mut impl Write) {
    while number > 0x7f {
        append(&[number as u8 | 0x80], packed);
        number >>= 7;
    }
    append(&[number as u8], packed);
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
