//! The memory for the rules of all hosts, which has a limit.

use std::mem;

use super::host::Host;
use super::rules_state::RulesState;

/// Limit on the memory for the rules of all hosts, in bytes. Above it, the rules
/// of a host without work are evicted, and fetched again when they are needed again.
const MAX_SIZE: usize = 64 << 20;

/// Hard limit. Above it, a host that needs rules waits until others have no more work, and
/// gives up its other rules meanwhile.
const HARD_MAX_SIZE: usize = 4 * MAX_SIZE;

/// The memory for the rules of all hosts.
#[derive(Default)]
pub(super) struct RulesMemory {
    /// In bytes.
    size: usize,
}

impl RulesMemory {
    /// Returns true if the rules take more than they should.
    pub(super) fn is_scarce(&self) -> bool {
        self.size > MAX_SIZE
    }

    /// Sets the state of the robots.txt of an origin.
    pub(super) fn set(&mut self, host: &mut Host, origin: usize, state: RulesState) {
        self.size += state.size();
        if state.is_unknown() {
            // A task that still waits for them will ask again.
            host.rules_wanted = None;
        }
        self.size -= mem::replace(&mut host.rules[origin], state).size();
    }

    /// Evicts the rules of a host without work if those of all hosts take too much memory.
    /// Above the hard limit, also evicts rules of a host that has work, except rules that a
    /// task waits for. Returns true if this host must wait for memory.
    ///
    /// It cannot wait forever: the rules of hosts without work have at most [`MAX_SIZE`],
    /// and a host that keeps more has a job that will use it.
    pub(super) fn evict(&mut self, host: &mut Host) -> bool {
        let is_unused = !host.has_work() && host.rules_wanted.is_none();
        let needs_rules = self.size > HARD_MAX_SIZE && host.needs_rules().is_some();
        if needs_rules || is_unused && self.is_scarce() {
            for (origin, rules) in host.rules.iter_mut().enumerate() {
                let size = rules.size();
                // Rules that take no memory are worth keeping, and others can be fetched again.
                if size > 0 && host.rules_wanted != Some(origin) {
                    *rules = RulesState::default();
                    self.size -= size;
                }
            }
        }
        needs_rules && self.size > HARD_MAX_SIZE
    }
}
