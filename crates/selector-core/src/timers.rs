//! Deadlines in order.
//!
//! Nearly every deadline of a crawl is set and then taken back: a server
//! answers within milliseconds, the limit is 30 seconds. So what has to be
//! cheap is cancelling, and a cancelled timer has to be gone: at 40,000 pages
//! a second, entries that linger until they would have fired pile up by the
//! million. A balanced tree keyed by time and number gives both in O(log n).

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

// ANCHOR: timer_key
/// Names one timer: when it fires, and which of those that fire then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimerKey {
    /// In nanoseconds from the first instant that any timer was set to: half
    /// as large as an `Instant`, and good for 292 years.
    at: i64,
    number: NonZeroU64,
}
// ANCHOR_END: timer_key

/// Data that becomes due at an instant; first due first out, in the order of
/// setting where two are due together.
#[derive(Debug)]
pub struct Timers<D> {
    pending: BTreeMap<TimerKey, D>,
    next: NonZeroU64,
    first: Option<Instant>,
}

impl<D> Timers<D> {
    /// No timers.
    pub fn new() -> Self {
        Self { pending: BTreeMap::new(), next: NonZeroU64::MIN, first: None }
    }

    /// How many are pending.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether none is pending.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    // ANCHOR: set_and_cancel
    /// Sets a timer.
    pub fn set(&mut self, at: Instant, data: D) -> TimerKey {
        let first = *self.first.get_or_insert(at);
        let key = TimerKey { at: nanoseconds(first, at), number: self.next };
        self.next = self.next.saturating_add(1);
        self.pending.insert(key, data);
        key
    }

    /// Takes a timer back, unless it has fired already. Nothing of it remains.
    pub fn cancel(&mut self, key: TimerKey) -> Option<D> {
        self.pending.remove(&key)
    }
    // ANCHOR_END: set_and_cancel

    /// Moves a timer to another instant, unless it has fired already.
    pub fn move_to(&mut self, key: TimerKey, at: Instant) -> Option<TimerKey> {
        let data = self.cancel(key)?;
        Some(self.set(at, data))
    }

    /// When the timer of this key fires.
    pub fn at(&self, key: TimerKey) -> Option<Instant> {
        let distance = Duration::from_nanos(key.at.unsigned_abs());
        let first = self.first?;
        if key.at < 0 { first.checked_sub(distance) } else { first.checked_add(distance) }
    }

    // ANCHOR: due
    /// When the next one is due: how long a loop may sleep.
    pub fn next_due(&self) -> Option<Instant> {
        self.pending.keys().next().and_then(|&key| self.at(key))
    }

    /// Removes one timer that is due at `now`. Called again until there is
    /// none, it gives them in order, and a timer set meanwhile takes its turn.
    pub fn pop_due(&mut self, now: Instant) -> Option<D> {
        let now = nanoseconds(self.first?, now);
        let next = self.pending.first_entry()?;
        (next.key().at <= now).then(|| next.remove())
    }
    // ANCHOR_END: due
}

/// From `first` to `at`, however far: beyond the end of what can be counted lies
/// the end.
fn nanoseconds(first: Instant, at: Instant) -> i64 {
    let count = |duration: Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
    match at.checked_duration_since(first) {
        Some(after) => count(after),
        None => -count(first.saturating_duration_since(at)),
    }
}

impl<D> Default for Timers<D> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
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
        /// Against a plain list, searched from end to end.
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
                prop_assert_eq!(timers.next_due(), list.iter().map(|(.., ms)| at(*ms)).min());
            }
        }
    }
}
