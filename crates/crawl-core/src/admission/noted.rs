//! What leads to a URL, where, and with which words.

use std::mem;

use crate::links::{Element, Link, Place};

/// The first link to a URL on one of its referrers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mention<'a> {
    /// Where its tag begins.
    pub place: Place,
    /// What it belongs to.
    pub element: Element,
    /// What a reader sees of it: at most 80 characters, with single blanks.
    pub text: &'a str,
}

impl<'a> Mention<'a> {
    /// That of a link, if it says where it is.
    pub(super) fn of(link: Link<'a>) -> Option<Self> {
        let Link { place, element, text, .. } = link;
        Some(Self { place: place?, element, text })
    }
}

/// What leads to a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Referrer<'a> {
    /// The page, or what redirects; who leads to that are referrers of its own.
    pub url: &'a str,
    /// Where on the page. Not known for a redirect, nor when there were more of
    /// them than fit ([`MOST_MENTION_BYTES`](crate::Admission::MOST_MENTION_BYTES)).
    pub mention: Option<Mention<'a>>,
}

/// The first referrers of one URL, packed into one piece of memory.
///
/// For each: one more than the number of its element, or a zero if it is not
/// known where it leads here; and by how much its number is more than that of the
/// one before. Then, unless it was a zero, line and column, one more than the
/// bytes of the text, and the text. Instead of a text that is the first one's
/// again, as most are, there is a zero.
///
/// What is left over is [`UNUSED`]. The memory grows in the steps in which
/// allocators hand it out: 24 bytes, 40, 56.
#[derive(Debug, Default)]
pub(super) struct Noted(Box<[u8]>);

/// In front it would be an element, and there are not as many; no text in UTF-8
/// has it, and no packed number ends with it.
const UNUSED: u8 = 0xff;

/// One referrer, as it is noted.
struct Record<'a> {
    /// Of its number beyond the one before.
    step: u32,
    /// Element, place and text of the link.
    link: Option<(u8, Place, &'a [u8])>,
}

impl<'a> Record<'a> {
    fn mention(self) -> Option<Mention<'a>> {
        let (element, place, text) = self.link?;
        let text = std::str::from_utf8(text).ok()?;
        let element = *Element::ALL.get(usize::from(element))?;
        Some(Mention { place, element, text })
    }
}

impl Noted {
    pub(super) fn first_byte(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// How much memory they take, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.0.len()
    }

    /// Adds one whose number is so much more than that of the one before.
    pub(super) fn add(&mut self, step: u32, mention: Option<Mention<'_>>) {
        let step = zigzag(step);
        let (mut bytes, mut numbers, mut text) = (1 + packed_bytes(step), None, "");
        if let Some(mention) = mention {
            let first = self.records().find_map(|record| record.link);
            let is_known = first.is_some_and(|(.., first)| first == mention.text.as_bytes());
            text = if is_known { "" } else { mention.text };
            let text_bytes = if is_known { 0 } else { text.len() as u32 + 1 };
            let all = [mention.place.line, mention.place.column, text_bytes];
            bytes += all.map(packed_bytes).iter().sum::<usize>() + text.len();
            numbers = Some(all);
        }
        let used = self.0.iter().rposition(|byte| *byte != UNUSED).map_or(0, |last| last + 1);
        let mut packed = mem::take(&mut self.0).into_vec();
        let room =
            packed.len().max((used + bytes).saturating_sub(8).next_multiple_of(16).max(16) + 8);
        packed.truncate(used);
        packed.reserve_exact(room - used);
        packed.push(mention.map_or(0, |mention| mention.element as u8 + 1));
        pack(step, &mut packed);
        numbers.into_iter().flatten().for_each(|number| pack(number, &mut packed));
        packed.extend_from_slice(text.as_bytes());
        packed.resize(room, UNUSED);
        self.0 = packed.into_boxed_slice();
    }

    /// The referrers, of which the first has this number.
    pub(super) fn iter(&self, first: u32) -> impl Iterator<Item = (u32, Option<Mention<'_>>)> {
        self.numbers(first).map(|(from, record)| (from, record.mention()))
    }

    /// Those of which nothing else is known: all redirects, and others.
    pub(super) fn without_mention(&self, first: u32) -> impl Iterator<Item = u32> {
        let without = self.numbers(first).filter(|(_, record)| record.link.is_none());
        without.map(|(from, _)| from)
    }

    fn numbers(&self, first: u32) -> impl Iterator<Item = (u32, Record<'_>)> {
        let mut from = first;
        self.records().map(move |record| {
            from = from.wrapping_add(record.step);
            (from, record)
        })
    }

    fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let (mut rest, mut first) = (&*self.0, None);
        std::iter::from_fn(move || {
            let (&tag, after) = rest.split_first().filter(|(tag, _)| **tag != UNUSED)?;
            rest = after;
            let step = unzigzag(unpack(&mut rest)?);
            let Some(element) = tag.checked_sub(1) else {
                return Some(Record { step, link: None });
            };
            let place = Place { line: unpack(&mut rest)?, column: unpack(&mut rest)? };
            let text = match unpack(&mut rest)?.checked_sub(1) {
                None => first?,
                Some(bytes) => {
                    let (text, after) = rest.split_at_checked(bytes as usize)?;
                    rest = after;
                    text
                }
            };
            first = first.or(Some(text));
            Some(Record { step, link: Some((element, place, text)) })
        })
    }
}

/// Makes small numbers of those just below zero, too: they take turns (as the
/// ZigZag encoding of Protocol Buffers).
fn zigzag(step: u32) -> u32 {
    (step << 1) ^ (step as i32 >> 31) as u32
}

fn unzigzag(number: u32) -> u32 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// Appends a number, seven bits to a byte and the lowest first; the eighth says
/// that there are more (LEB128, as in the DWARF standard, section 7.6).
fn pack(mut number: u32, packed: &mut Vec<u8>) {
    while number > 0x7f {
        packed.push(number as u8 | 0x80);
        number >>= 7;
    }
    packed.push(number as u8);
}

/// How many bytes that takes.
fn packed_bytes(number: u32) -> usize {
    (number | 1).ilog2() as usize / 7 + 1
}

/// Takes a number from the front.
fn unpack(packed: &mut &[u8]) -> Option<u32> {
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
        assert!(Element::ALL.len() < usize::from(UNUSED));
    }
}
