//! The rules of origins that a worker has read, up to a limit on their texts.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use stage3_queue::Rules;

/// Time after which the rules of an origin are read from Redis again.
const CACHE_TIME: Duration = Duration::from_secs(600);

/// Limit on the texts of all rules, in bytes: a robots.txt may have 500 KB, and a crawl any
/// number of hosts.
const MAX_LENGTH: usize = 64 << 20;

/// The rules that are known, by the keys of their origins.
#[derive(Default)]
pub(crate) struct RulesCache {
    rules: HashMap<String, Entry>,
    /// The sum of the lengths of the texts.
    length: usize,
}

/// Rules, with the instant at which they were read and the length of their text.
type Entry = (Instant, Rc<Rules>, usize);

impl RulesCache {
    /// Returns the rules of an origin, unless they are to be read again.
    pub(crate) fn get(&self, key: &str, now: Instant) -> Option<&Rc<Rules>> {
        let (_, rules, _) = self.rules.get(key).filter(|(at, ..)| now < *at + CACHE_TIME)?;
        Some(rules)
    }

    /// Keeps rules, whose text has this length. If all would have more than the limit, the
    /// others are forgotten: they are read again from Redis.
    pub(crate) fn keep(&mut self, key: String, rules: Rc<Rules>, length: usize, now: Instant) {
        if self.length + length > MAX_LENGTH {
            self.rules.clear();
            self.length = 0;
        }
        let before = self.rules.insert(key, (now, rules, length));
        self.length += length;
        self.length -= before.map_or(0, |(.., length)| length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_known_for_ten_minutes() {
        let (mut cache, now) = (RulesCache::default(), Instant::now());
        cache.keep("0a.test".to_owned(), Rc::new(Rules::none()), 10, now);
        let is_known = |key, seconds| cache.get(key, now + Duration::from_secs(seconds)).is_some();
        assert!(is_known("0a.test", 599) && !is_known("0a.test", 600) && !is_known("1a.test", 0));
    }

    #[test]
    fn the_rules_of_hosts_without_end_have_a_limit() {
        let (mut cache, now, rules) =
            (RulesCache::default(), Instant::now(), Rc::new(Rules::none()));
        for n in 0..1_000 {
            cache.keep(format!("0{n}.test"), Rc::clone(&rules), 500_000, now);
            assert!(cache.rules.len() <= MAX_LENGTH / 500_000);
            assert!(cache.get(&format!("0{n}.test"), now).is_some());
        }
        // One that is read again takes the place of itself.
        (0..1_000).for_each(|_| cache.keep("0.test".to_owned(), Rc::clone(&rules), 100_000, now));
        assert!(cache.get("0999.test", now).is_some());
    }
}
