//! The queue of the names to look up: fair by zone, and limited.

use std::collections::{HashMap, VecDeque};

use crate::lookup::HostPort;

/// A queue of names that wait for their lookup, with one turn for each zone
/// (round robin).
///
/// A zone is a registrable domain, such as `example.co.uk`: the same name servers
/// answer for all names in it. If they are slow, each lookup of the zone is in flight
/// for seconds. Therefore a zone gets another lookup only if it has fewer in flight
/// than are still free. A zone alone may take half of all, the next one half of the
/// rest, and there is room for the first lookup of one more.
#[derive(Debug, Default)]
pub(crate) struct LookupQueue {
    zones: HashMap<Box<str>, Zone>,
    /// The zones with names that wait, in the order of their turns.
    turns: VecDeque<Box<str>>,
    in_flight: usize,
}

#[derive(Debug, Default)]
struct Zone {
    waiting: VecDeque<HostPort>,
    in_flight: usize,
}

impl LookupQueue {
    /// The maximum number of lookups in flight. Each waits for two answers (A and
    /// AAAA), and takes hardly any time of the processor.
    const MAX_IN_FLIGHT: usize = 128;

    /// Adds a name at the end of its zone.
    pub(crate) fn push(&mut self, name: HostPort) {
        let zone = zone_of(&name.0);
        let waiting = &mut self.zones.entry(zone.into()).or_default().waiting;
        if waiting.is_empty() {
            self.turns.push_back(zone.into());
        }
        waiting.push_back(name);
    }

    /// Takes the next name whose lookup may start, and counts it as in flight.
    pub(crate) fn start_next(&mut self) -> Option<HostPort> {
        let free = Self::MAX_IN_FLIGHT - self.in_flight;
        if free == 0 {
            return None;
        }
        // Only zones with a lookup in flight are passed over, so they are few.
        for _ in 0..self.turns.len() {
            let turn = self.turns.pop_front()?;
            let zone = self.zones.get_mut(&turn)?;
            if zone.in_flight >= free {
                self.turns.push_back(turn);
                continue;
            }
            zone.in_flight += 1;
            self.in_flight += 1;
            let name = zone.waiting.pop_front();
            if !zone.waiting.is_empty() {
                self.turns.push_back(turn);
            }
            return name;
        }
        None
    }

    /// Counts a lookup in flight no longer.
    pub(crate) fn end(&mut self, name: &HostPort) {
        let key = zone_of(&name.0);
        let Some(zone) = self.zones.get_mut(key) else { return };
        zone.in_flight -= 1;
        self.in_flight -= 1;
        if zone.in_flight == 0 && zone.waiting.is_empty() {
            self.zones.remove(key);
        }
    }
}

/// Returns the zone of a name, without the dot that may end it. A name outside of
/// the public suffix list is a zone of its own, as `localhost` is.
fn zone_of(host: &str) -> &str {
    let host = host.strip_suffix('.').unwrap_or(host);
    #[cfg(not(target_family = "wasm"))]
    if let Some(zone) = psl2::lookup(host).and_then(|domain| domain.registrable_domain()) {
        return zone;
    }
    host
}
