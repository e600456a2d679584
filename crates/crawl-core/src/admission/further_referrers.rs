//! The referrers of a URL after its first ones: a report on a broken URL names
//! them all.

use std::collections::HashMap;

use super::referrers::{LinkContext, append_record, decode_records};

/// The further referrers of all URLs that are not known to be fine, by the number
/// of the URL. Few URLs have any, so they are not in the records.
#[derive(Debug, Default)]
pub(super) struct FurtherReferrers {
    /// Records as in [`Referrers`](super::referrers::Referrers), but each with the
    /// whole number of its referrer, since there may be others between two.
    packed: HashMap<u32, Further>,
    bytes: usize,
}

/// The further referrers of one URL.
#[derive(Debug, Default)]
struct Further {
    packed: Vec<u8>,
    last: u32,
}

impl FurtherReferrers {
    /// Returns the size of all further referrers, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds the referrer `from` of the URL `number`. `first_text` is the text of the
    /// first link to it.
    pub(super) fn add(
        &mut self,
        number: u32,
        from: u32,
        context: Option<LinkContext<'_>>,
        first_text: Option<&str>,
    ) {
        let further = self.packed.entry(number).or_insert_with(|| {
            self.bytes += size_of::<(u32, Further)>();
            Further::default()
        });
        further.last = from;
        let packed = &mut further.packed;
        let before = packed.capacity();
        let is_repeated = context.is_some_and(|context| first_text == Some(context.text));
        append_record(from, context, is_repeated, packed);
        self.bytes += packed.capacity() - before;
    }

    /// Returns the last one that was added to a URL.
    pub(super) fn last(&self, number: u32) -> Option<u32> {
        self.packed.get(&number).map(|further| further.last)
    }

    /// Forgets the further referrers of a URL. Returns those without a link context:
    /// all redirects, and others.
    pub(super) fn forget(&mut self, number: u32) -> Vec<u32> {
        let Some(Further { packed, .. }) = self.packed.remove(&number) else { return Vec::new() };
        self.bytes -= packed.capacity() + size_of::<(u32, Further)>();
        // In the end most URLs are fine, and a table of their lists is of no use.
        if self.packed.len() < self.packed.capacity() / 4 {
            self.packed.shrink_to(2 * self.packed.len());
        }
        let records = decode_records(&packed, Some(""));
        records.filter(|record| record.link.is_none()).map(|record| record.step).collect()
    }

    /// Returns the further referrers of a URL in the order in which they were found.
    pub(super) fn of<'a>(
        &'a self,
        number: u32,
        first_text: Option<&'a str>,
    ) -> impl Iterator<Item = (u32, Option<LinkContext<'a>>)> {
        let further = self.packed.get(&number);
        let packed = further.map(|further| &*further.packed).unwrap_or_default();
        decode_records(packed, first_text).map(|record| (record.step, record.context()))
    }
}
