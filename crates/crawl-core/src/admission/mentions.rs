//! Where a URL is linked to, and with which words.

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

/// What leads to a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Referrer<'a> {
    /// The page, or what redirects; who leads to that are referrers of its own.
    pub url: &'a str,
    /// Where on the page. Not known for a redirect, nor when there were more of
    /// them than fit ([`MOST_MENTION_BYTES`](crate::Admission::MOST_MENTION_BYTES)).
    pub mention: Option<Mention<'a>>,
}

/// Links to those URLs of which it is not known yet that they are fine.
///
/// How many those are, and how often they are linked to before they are asked,
/// depends on the site. So all of this together has a limit; beyond that,
/// referrers are known by their URLs only.
///
/// URLs are asked about in the order of their numbers. So those near each other
/// are known to be fine at about the same time, and share a segment that is
/// given back when there are no mentions in it.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    segments: Vec<Segment>,
    /// What is noted, without the segments.
    bytes: usize,
}

/// How much memory mentions take at most, in bytes: 64 MiB. The second half is
/// for the first mention of each URL.
pub(super) const MOST_BYTES: usize = 64 * 1024 * 1024;

/// How many URLs share a segment.
const SEGMENT: usize = 128;

#[derive(Debug, Default)]
struct Segment {
    /// So many, or none.
    noted: Vec<Noted>,
    /// How many of them have mentions.
    taken: usize,
}

impl Mentions {
    /// Notes a link to the URL of this number on one of its first referrers,
    /// unless there is no room, or it does not say where it is.
    pub(super) fn note(&mut self, url: u32, referrer: u8, link: Link<'_>) {
        if self.bytes >= MOST_BYTES || link.place.is_none() {
            return;
        }
        let (n, place) = (url as usize / SEGMENT, url as usize % SEGMENT);
        if self.segments.len() <= n {
            self.segments.resize_with(n + 1, Segment::default);
        }
        let Some(segment) = self.segments.get_mut(n) else { return };
        if segment.noted.is_empty() {
            segment.noted.reserve_exact(SEGMENT);
            segment.noted.resize_with(SEGMENT, Noted::default);
        }
        let Some(noted) = segment.noted.get_mut(place) else { return };
        let before = noted.bytes();
        if before == 0 {
            segment.taken += 1;
        } else if self.bytes >= MOST_BYTES / 2 {
            return;
        }
        noted.add(referrer, link);
        self.bytes += noted.bytes() - before;
    }

    /// Forgets about a URL.
    pub(super) fn forget(&mut self, url: u32) {
        let Some(segment) = self.segments.get_mut(url as usize / SEGMENT) else { return };
        let Some(noted) = segment.noted.get_mut(url as usize % SEGMENT) else { return };
        let bytes = mem::take(noted).bytes();
        if bytes == 0 {
            return;
        }
        self.bytes -= bytes;
        segment.taken -= 1;
        if segment.taken == 0 {
            segment.noted = Vec::new();
        }
    }

    /// The link to a URL on one of its first referrers.
    pub(super) fn get(&self, url: u32, referrer: u8) -> Option<Mention<'_>> {
        let segment = self.segments.get(url as usize / SEGMENT)?;
        segment.noted.get(url as usize % SEGMENT)?.get(referrer)
    }
}

/// The mentions of one URL, packed into one piece of memory of just their size:
/// in the middle of a crawl most URLs wait, each with a few of them.
///
/// For each: its referrer (which of the URL's it is), its element, line and
/// column, one more than the bytes of its text, and the text. Instead of a text
/// that is the first one's again, as most are, there is a zero.
#[derive(Debug, Default)]
struct Noted(Box<[u8]>);

impl Noted {
    /// How much memory they take, in bytes.
    fn bytes(&self) -> usize {
        self.0.len()
    }

    /// Adds a link on one of the URL's first referrers, which says where it is.
    fn add(&mut self, referrer: u8, link: Link<'_>) {
        let Some(place) = link.place else { return };
        let is_text_known = self.iter().next().is_some_and(|(_, first)| first.text == link.text);
        let (text_bytes, text) =
            if is_text_known { (0, "") } else { (link.text.len() as u32 + 1, link.text) };
        let numbers = [place.line, place.column, text_bytes];
        let bytes = 2 + numbers.map(packed_bytes).iter().sum::<usize>() + text.len();
        let mut packed = mem::take(&mut self.0).into_vec();
        packed.reserve_exact(bytes);
        packed.extend([referrer, link.element as u8]);
        numbers.into_iter().for_each(|number| pack(number, &mut packed));
        packed.extend_from_slice(text.as_bytes());
        self.0 = packed.into_boxed_slice();
    }

    /// The link on this one of the URL's first referrers.
    fn get(&self, referrer: u8) -> Option<Mention<'_>> {
        self.iter().find(|(by, _)| *by == referrer).map(|(_, mention)| mention)
    }

    /// The mentions, each with its referrer.
    fn iter(&self) -> impl Iterator<Item = (u8, Mention<'_>)> {
        let (mut rest, mut first) = (&*self.0, None);
        std::iter::from_fn(move || {
            let (&[referrer, element], after) = rest.split_first_chunk()?;
            rest = after;
            let place = Place { line: unpack(&mut rest)?, column: unpack(&mut rest)? };
            let text = match unpack(&mut rest)?.checked_sub(1) {
                None => first?,
                Some(bytes) => {
                    let (text, after) = rest.split_at_checked(bytes as usize)?;
                    rest = after;
                    std::str::from_utf8(text).ok()?
                }
            };
            first = first.or(Some(text));
            let element = *Element::ALL.get(usize::from(element))?;
            Some((referrer, Mention { place, element, text }))
        })
    }
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
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is noted is found again.
        #[test]
        fn what_is_packed_can_be_unpacked(
            links in prop::collection::vec(
                (any::<u32>(), any::<u32>(), 0..Element::ALL.len(), "[ab\u{fc}]{0,2}|.{80}"),
                0..10,
            ),
        ) {
            let mut mentions = Noted::default();
            for (referrer, (line, column, element, text)) in (0..).zip(&links) {
                let place = Some(Place { line: *line, column: *column });
                let element = Element::ALL[*element];
                mentions.add(referrer, Link { href: "", element, place, text, nofollow: false });
            }
            for (referrer, (line, column, element, text)) in (0..).zip(&links) {
                let place = Place { line: *line, column: *column };
                let mention = Mention { place, element: Element::ALL[*element], text };
                prop_assert_eq!(mentions.get(referrer), Some(mention));
            }
            prop_assert_eq!(mentions.get(10), None);
        }
    }

    #[test]
    fn elements_are_numbered_in_order() {
        assert!((0..).zip(Element::ALL).all(|(n, element)| element as usize == n));
    }
}
