//! One known URL: what is decided about it, and who leads to it.

use std::mem;
use std::sync::Arc;

use super::noted::{Mention, Noted};
use crate::links::Link;

/// How many referrers of one URL are remembered by name.
pub(super) const MOST_REFERRERS: usize = 10;

/// A URL, and who leads to it: the first few, and how many.
///
/// In the middle of a crawl most URLs wait, each with a few links to it. When it
/// is known that a URL is fine, and for most that is so in the end, all of those
/// are forgotten but the first.
///
/// There may be millions, so each is small: 48 bytes.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) url: Arc<str>,
    /// When the table grows, nobody has to look at a million texts again.
    pub(super) hash: u32,
    /// The state in the two lowest bits, and then the fate.
    status: u8,
    /// How many referrers there are, the lowest byte first: up to 16,777,215.
    count: [u8; 3],
    first: u32,
    last: u32,
    noted: Noted,
}

/// What is decided about a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing, since it is too many clicks away as far as is known.
    TooDeep,
    /// Everything; the user named it, or a sitemap did.
    Named,
    /// Everything; something led to it.
    Decided,
}

/// What is known of a URL, as far as it matters to those who lead to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nothing yet.
    Open,
    /// It leads to another, of which nothing is known yet.
    Redirecting,
    /// There is nothing to mend.
    Fine,
    /// It is broken, or leads to what is.
    Broken,
}

impl Entry {
    /// One of which nothing is known, and nothing decided.
    pub(super) fn new(url: Arc<str>, hash: u32) -> Self {
        let noted = Noted::default();
        Self { url, hash, status: 0, count: [0; 3], first: 0, last: 0, noted }
    }

    pub(super) fn state(&self) -> State {
        match self.status & 0b11 {
            0 => State::TooDeep,
            1 => State::Named,
            _ => State::Decided,
        }
    }

    pub(super) fn set_state(&mut self, state: State) {
        self.status = self.status & !0b11 | state as u8;
    }

    pub(super) fn fate(&self) -> Fate {
        match self.status >> 2 {
            0 => Fate::Open,
            1 => Fate::Redirecting,
            2 => Fate::Fine,
            _ => Fate::Broken,
        }
    }

    pub(super) fn set_fate(&mut self, fate: Fate) {
        self.status = self.status & 0b11 | (fate as u8) << 2;
    }

    /// Adds a referrer, if it is news, and notes what is of interest. Returns by
    /// how many bytes the notes have grown. A page is done with before the next
    /// one comes, so it is enough to remember the last.
    pub(super) fn refer(&mut self, from: u32, link: Option<Link<'_>>) -> Option<usize> {
        let (before, bytes) = (self.count(), self.noted.bytes());
        if before == 0 {
            (self.first, self.last) = (from, from);
        } else if self.last == from {
            return None;
        }
        if self.fate() != Fate::Fine && (before as usize) < MOST_REFERRERS {
            let mention = link.and_then(Mention::of);
            // One who has nothing to say, and is alone, takes no notes.
            if before == 1 && bytes == 0 {
                self.noted.add(0, None);
            }
            if before > 0 || mention.is_some() {
                self.noted.add(from.wrapping_sub(self.last), mention);
            }
        }
        self.last = from;
        if self.count != [u8::MAX; 3] {
            let [low, middle, high, _] = (before + 1).to_le_bytes();
            self.count = [low, middle, high];
        }
        Some(self.noted.bytes() - bytes)
    }

    /// The first byte of each thing that an entry refers to.
    pub(super) fn first_bytes(&self) -> [Option<u8>; 2] {
        [self.url.bytes().next(), self.noted.first_byte()]
    }

    /// How many referrers there are.
    pub(super) fn count(&self) -> u32 {
        let [low, middle, high] = self.count;
        u32::from_le_bytes([low, middle, high, 0])
    }

    pub(super) fn first_referrer(&self) -> Option<u32> {
        (self.count() > 0).then_some(self.first)
    }

    /// The first ones, as far as they are remembered, and where they lead here.
    pub(super) fn referrers(&self) -> impl Iterator<Item = (u32, Option<Mention<'_>>)> {
        let alone = self.alone().map(|first| (first, None));
        alone.into_iter().chain(self.noted.iter(self.first))
    }

    /// The first referrer, if nothing is noted about it or any other.
    fn alone(&self) -> Option<u32> {
        self.first_referrer().filter(|_| self.noted.bytes() == 0)
    }

    /// Forgets all but the first, and returns those that may be redirects, and
    /// how many bytes are given back.
    pub(super) fn forget_referrers(&mut self) -> (Vec<u32>, usize) {
        let (alone, noted) = (self.alone(), mem::take(&mut self.noted));
        let redirects = alone.into_iter().chain(noted.without_mention(self.first));
        (redirects.collect(), noted.bytes())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::links::{Element, Place};

    proptest! {
        /// Whatever is noted is found again.
        #[test]
        fn referrers_are_remembered_and_forgotten(
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
            let (mut entry, mut bytes) = (Entry::new("".into(), 0), 0);
            let mut expected: Vec<(u32, Option<Mention<'_>>)> = Vec::new();
            for (from, place, element, text) in &referrers {
                let element = Element::ALL[*element];
                let place = place.map(|(line, column)| Place { line, column });
                let link = Link { href: "", element, place, text, nofollow: false };
                let is_news = expected.last().is_none_or(|(last, _)| last != from);
                let grown = entry.refer(*from, Some(link));
                prop_assert_eq!(grown.is_some(), is_news);
                prop_assert_eq!(entry.refer(*from, Some(link)), None);
                bytes += grown.unwrap_or_default();
                if is_news {
                    let mention = place.map(|place| Mention { place, element, text });
                    expected.push((*from, mention));
                }
            }
            prop_assert_eq!(entry.count() as usize, expected.len());
            expected.truncate(MOST_REFERRERS);
            prop_assert_eq!(entry.referrers().collect::<Vec<_>>(), expected.clone());
            let redirects = expected.iter().filter(|(_, mention)| mention.is_none());
            let redirects: Vec<u32> = redirects.map(|(from, _)| *from).collect();
            prop_assert_eq!(entry.forget_referrers(), (redirects, bytes));
            let left: Vec<u32> = entry.referrers().map(|(from, _)| from).collect();
            let first = expected.first().map(|(from, _)| *from);
            prop_assert_eq!(left, Vec::from_iter(first));
        }
    }

    #[test]
    fn a_word_has_room_for_all_that_is_known() {
        let mut entry = Entry::new("".into(), 0);
        assert_eq!(size_of_val(&entry), 48);
        for state in [State::TooDeep, State::Named, State::Decided] {
            for fate in [Fate::Open, Fate::Redirecting, Fate::Fine, Fate::Broken] {
                entry.set_state(state);
                entry.set_fate(fate);
                assert_eq!((entry.state(), entry.fate()), (state, fate));
            }
        }
        entry.count = [0xfe, 0xff, 0xff];
        for from in [1, 2, 3] {
            entry.refer(from, None);
        }
        assert_eq!(entry.count(), 0xff_ffff);
    }
}
