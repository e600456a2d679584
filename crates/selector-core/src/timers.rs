//! Timers: deadlines in order. A cancelled one is gone at once.
//!
//! Nearly every deadline of a crawl is set and then cancelled: a server answers
//! within milliseconds, the limit is 30 seconds. So cancelling has to be cheap,
//! and a cancelled timer has to be gone: at 40,000 pages a second, entries that
//! stay until they would have fired pile up by the million. A balanced tree
//! keyed by moment and number does both in O(log n).

use std::collections::BTreeMap;
use std::time::Instant;

// ANCHOR: timer_key
/// The name of one timer: the moment when it fires, and a number that
/// distinguishes timers of the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimerKey {
    at: Instant,
    number: u64,
}
// ANCHOR_END: timer_key

impl TimerKey {
    /// Returns the moment at which the timer fires.
    pub fn at(self) -> Instant {
        self.at
    }
}

/// Pending timers with their data, ordered by moment; those of the same moment
/// fire in the order in which they were set.
#[derive(Debug)]
pub struct Timers<D> {
    pending: BTreeMap<TimerKey, D>,
    next_number: u64,
}

impl<D> Timers<D> {
    /// Makes an empty set of timers.
    pub const fn new() -> Self {
        Self { pending: BTreeMap::new(), next_number: 0 }
    }

    /// Returns the number of pending timers.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Returns true if no timer is pending.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    // ANCHOR: set_and_cancel
    /// Sets a timer.
    pub fn set(&mut self, at: Instant, data: D) -> TimerKey {
        let key = TimerKey { at, number: self.next_number };
        self.next_number += 1;
        trace::timer_set(key.number, at);
        self.pending.insert(key, data);
        key
    }

    /// Cancels a timer and returns its data, unless it has fired already. Its
    /// memory is freed at once.
    pub fn cancel(&mut self, key: TimerKey) -> Option<D> {
        trace::timer_cancelled(key.number, || self.pending.contains_key(&key));
        self.pending.remove(&key)
    }
    // ANCHOR_END: set_and_cancel

    /// Moves a timer to another moment, unless it has fired already.
    pub fn move_to(&mut self, key: TimerKey, at: Instant) -> Option<TimerKey> {
        let data = self.cancel(key)?;
        Some(self.set(at, data))
    }

    // ANCHOR: due
    /// Returns the moment of the next timer: the longest that a loop may sleep.
    pub fn next_due(&self) -> Option<Instant> {
        self.pending.keys().next().map(|key| key.at)
    }

    /// Removes one timer that is due at `now` and returns its data. Called until
    /// none is left, it returns them in order, with those set meanwhile.
    pub fn pop_due(&mut self, now: Instant) -> Option<D> {
        let next = self.pending.first_entry().filter(|next| next.key().at <= now)?;
        trace::timer_fired(next.key().number);
        Some(next.remove())
    }
    // ANCHOR_END: due
}

impl<D> Default for Timers<D> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Set(u64),
        Cancel(usize),
        Move(usize, u64),
        Fire(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..50u64).prop_map(Step::Set),
            (0..20usize).prop_map(Step::Cancel),
            (0..20usize, 0..50u64).prop_map(|(which, at)| Step::Move(which, at)),
            (0..50u64).prop_map(Step::Fire),
        ]
    }

    proptest! {
        /// Compared with a plain list, searched from end to end.
        #[test]
        fn behaves_like_a_list(steps in proptest::collection::vec(step(), 0..60)) {
            let start = Instant::now();
            let at = |ms| start + Duration::from_millis(ms);
            let mut timers = Timers::new();
            let mut list: Vec<(TimerKey, usize, u64)> = Vec::new();
            let mut keys = Vec::new();
            for (name, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Set(ms) => {
                        let key = timers.set(at(ms), name);
                        keys.push(key);
                        list.push((key, name, ms));
                    }
                    Step::Cancel(which) => if let Some(&key) = keys.get(which) {
                        let place = list.iter().position(|(k, ..)| *k == key);
                        prop_assert_eq!(timers.cancel(key), place.map(|p| list.remove(p).1));
                    },
                    Step::Move(which, ms) => if let Some(&key) = keys.get(which) {
                        let place = list.iter().position(|(k, ..)| *k == key);
                        let moved = timers.move_to(key, at(ms));
                        prop_assert_eq!(moved.is_some(), place.is_some());
                        if let (Some(new), Some(p)) = (moved, place) {
                            (list[p].0, list[p].2) = (new, ms);
                            keys[which] = new;
                        }
                    },
                    Step::Fire(ms) => loop {
                        let due = list.iter().filter(|(.., due)| *due <= ms);
                        let due = due.min_by_key(|(key, _, at)| (at, key.number)).copied();
                        prop_assert_eq!(timers.pop_due(at(ms)), due.map(|(_, name, _)| name));
                        let Some(due) = due else { break };
                        list.retain(|entry| *entry != due);
                    },
                }
                prop_assert_eq!(timers.len(), list.len());
                prop_assert_eq!(timers.is_empty(), list.is_empty());
                prop_assert_eq!(timers.next_due(), list.iter().map(|(.., ms)| at(*ms)).min());
            }
        }
    }
}
