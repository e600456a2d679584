//! The record of one known URL: its state, its link status and its referrers.

use std::sync::Arc;

use super::block_pool::BlockPool;
use super::referrers::{LinkContext, Referrers};
use web::links::Link;

/// The maximum number of referrers that are stored in the record of one URL.
pub(super) const MAX_REFERRERS: usize = 10;

/// A URL with its first referrers and the number of all its referrers.
///
/// In the middle of a crawl most URLs are queued, each with a few referrers. Most
/// URLs turn out to be fine, and then all referrers but the first are forgotten.
///
/// There may be millions of records, so each is small: 32 bytes, which are never in two
/// lines of a cache.
#[derive(Debug)]
#[repr(align(32))]
pub(super) struct UrlRecord {
    pub(super) url: Arc<str>,
    /// The [`State`] in the two lowest bits, the [`LinkStatus`] in the next two, then
    /// [`HAS_REDIRECT`] and [`IS_PAGE`].
    status: u8,
    /// The number of referrers, the lowest byte first: up to 16,777,215.
    count: [u8; 3],
    /// The number of the first referrer.
    first: u32,
    /// The number of the last referrer.
    last: u32,
    pub(super) referrers: Referrers,
}

/// The bit that says that a redirect is among the referrers.
const HAS_REDIRECT: u8 = 1 << 4;

/// The bit of a page that is broken because it was cut. Unlike everything else that is
/// broken, it has links.
const IS_PAGE: u8 = 1 << 5;

/// The state of the decision about a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not decided: all ways to it that are known have too many clicks.
    TooDeep,
    /// Decided, and found first as a root or in a sitemap.
    Seed,
    /// Decided, and found first through a referrer.
    Referred,
}

/// The status of all links to a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkStatus {
    /// Not known yet.
    Open,
    /// The URL redirects to another one whose status was not known then.
    Redirecting,
    /// The links need no repair.
    Fine,
    /// The URL is broken, or redirects to one that was known to be.
    Broken,
}

impl UrlRecord {
    /// Creates the record of an undecided URL without referrers.
    pub(super) fn new(url: Arc<str>) -> Self {
        let referrers = Referrers::default();
        Self { url, status: 0, count: [0; 3], first: 0, last: 0, referrers }
    }

    pub(super) fn state(&self) -> State {
        match self.status & 0b11 {
            0 => State::TooDeep,
            1 => State::Seed,
            _ => State::Referred,
        }
    }

    pub(super) fn set_state(&mut self, state: State) {
        self.status = self.status & !0b11 | state as u8;
    }

    pub(super) fn status(&self) -> LinkStatus {
        match self.status >> 2 & 0b11 {
            0 => LinkStatus::Open,
            1 => LinkStatus::Redirecting,
            2 => LinkStatus::Fine,
            _ => LinkStatus::Broken,
        }
    }

    pub(super) fn set_status(&mut self, status: LinkStatus) {
        self.status = self.status & !0b1100 | (status as u8) << 2;
    }

    /// Records that a redirect is among the referrers.
    pub(super) fn set_has_redirect(&mut self) {
        self.status |= HAS_REDIRECT;
    }

    /// Records that the URL is a page, although it is broken.
    pub(super) fn set_is_page(&mut self) {
        self.status |= IS_PAGE;
    }

    /// Returns true if the URL is broken and was a redirect, as far as it has links.
    pub(super) fn is_broken_redirect(&self) -> bool {
        self.status() == LinkStatus::Broken && self.status & IS_PAGE == 0
    }

    /// Adds a referrer with its link context to the URL of this number. Returns the number
    /// of bytes by which the stored referrers have grown, or `None` if the referrer is the
    /// same as the last one. The links of a page are added one after the other, so it is
    /// enough to compare with the last.
    pub(super) fn add_referrer(
        &mut self,
        number: u32,
        from: u32,
        link: Option<Link<'_>>,
        pool: &mut BlockPool,
    ) -> Option<usize> {
        let old_count = self.count();
        if old_count == 0 {
            (self.first, self.last) = (from, from);
        } else if self.last == from {
            return None;
        }
        let mut grown = 0;
        if self.status() != LinkStatus::Fine && (old_count as usize) < MAX_REFERRERS {
            let context = link.and_then(LinkContext::of);
            let bytes = self.referrers.bytes(pool);
            // A single referrer without a link context is stored in `first` only.
            if old_count == 1 && bytes == 0 {
                self.referrers.add(0, None, number, pool);
            }
            if old_count > 0 || context.is_some() {
                self.referrers.add(from.wrapping_sub(self.last), context, number, pool);
            }
            grown = self.referrers.bytes(pool) - bytes;
        }
        self.last = from;
        if self.count != [u8::MAX; 3] {
            let [low, middle, high, _] = (old_count + 1).to_le_bytes();
            self.count = [low, middle, high];
        }
        Some(grown)
    }

    /// Returns what lies outside the record, for a prefetch: its text and its referrers.
    pub(super) fn outer_bytes<'a>(&'a self, pool: &'a BlockPool) -> [&'a [u8]; 2] {
        [self.url.as_bytes(), self.referrers.packed(pool)]
    }

    /// Returns the number of referrers.
    pub(super) fn count(&self) -> u32 {
        let [low, middle, high] = self.count;
        u32::from_le_bytes([low, middle, high, 0])
    }

    pub(super) fn first_referrer(&self) -> Option<u32> {
        (self.count() > 0).then_some(self.first)
    }

    /// Returns the stored referrers with their link contexts.
    pub(super) fn referrers<'a>(
        &self,
        pool: &'a BlockPool,
    ) -> impl Iterator<Item = (u32, Option<LinkContext<'a>>)> + use<'a> {
        let only_referrer = self.only_referrer().map(|first| (first, None));
        only_referrer.into_iter().chain(self.referrers.iter(self.first, pool))
    }

    /// Returns the first referrer, if no other referrer and no link context is
    /// stored.
    fn only_referrer(&self) -> Option<u32> {
        self.first_referrer().filter(|_| self.referrers.is_empty())
    }

    /// Forgets all referrers but the first. Returns the referrers that may be
    /// redirects, and the number of bytes that are freed.
    pub(super) fn forget_referrers(&mut self, pool: &mut BlockPool) -> (Vec<u32>, usize) {
        let without_context = |(from, context): (_, Option<_>)| context.is_none().then_some(from);
        let redirects = match self.status & HAS_REDIRECT {
            0 => Vec::new(),
            _ => self.referrers(pool).filter_map(without_context).collect(),
        };
        (redirects, self.referrers.free(pool))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use web::links::{Element, Position};

    proptest! {
        /// All referrers that are added are returned, up to the maximum.
        #[test]
        fn referrers_are_stored_and_forgotten(
            referrers in prop::collection::vec(
                (
                    any::<u32>(),
                    prop::option::of((any::<u32>(), any::<u32>())),
                    0..Element::ALL.len(),
                    "[ab\u{fc}]{0,2}|.{80}",
                ),
                0..12,
            ),
        ) {
            let (mut url_record, mut bytes) = (UrlRecord::new("".into()), 0);
            let mut pool = BlockPool::default();
            url_record.set_has_redirect();
            let mut expected: Vec<(u32, Option<LinkContext<'_>>)> = Vec::new();
            for (from, position, element, text) in &referrers {
                let element = Element::ALL[*element];
                let position = position.map(|(line, column)| Position { line, column });
                let link = Link { href: "", element, position, text, nofollow: false };
                let is_new_referrer = expected.last().is_none_or(|(last, _)| last != from);
                let grown = url_record.add_referrer(0, *from, Some(link), &mut pool);
                prop_assert_eq!(grown.is_some(), is_new_referrer);
                let again = url_record.add_referrer(0, *from, Some(link), &mut pool);
                prop_assert_eq!(again, None);
                bytes += grown.unwrap_or_default();
                if is_new_referrer {
                    let context = position.map(|position| LinkContext { position, element, text });
                    expected.push((*from, context));
                }
            }
            prop_assert_eq!(url_record.count() as usize, expected.len());
            expected.truncate(MAX_REFERRERS);
            prop_assert_eq!(url_record.referrers(&pool).collect::<Vec<_>>(), expected.clone());
            let redirects = expected.iter().filter(|(_, context)| context.is_none());
            let redirects: Vec<u32> = redirects.map(|(from, _)| *from).collect();
            prop_assert_eq!(url_record.forget_referrers(&mut pool), (redirects, bytes));
            let remaining: Vec<u32> = url_record.referrers(&pool).map(|(from, _)| from).collect();
            let first = expected.first().map(|(from, _)| *from);
            prop_assert_eq!(remaining, Vec::from_iter(first));
        }
    }

    #[test]
    fn state_status_and_count_are_packed_without_loss() {
        let mut url_record = UrlRecord::new("".into());
        assert_eq!(size_of_val(&url_record), 32);
        url_record.set_has_redirect();
        for state in [State::TooDeep, State::Seed, State::Referred] {
            for status in
                [LinkStatus::Open, LinkStatus::Redirecting, LinkStatus::Fine, LinkStatus::Broken]
            {
                url_record.set_state(state);
                url_record.set_status(status);
                assert_eq!((url_record.state(), url_record.status()), (state, status));
                assert_ne!(url_record.status & HAS_REDIRECT, 0);
            }
        }
        url_record.count = [0xfe, 0xff, 0xff];
        for from in [1, 2, 3] {
            url_record.add_referrer(0, from, None, &mut BlockPool::default());
        }
        assert_eq!(url_record.count(), 0xff_ffff);
    }
}
