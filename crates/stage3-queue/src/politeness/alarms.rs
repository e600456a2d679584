//! Alarms: the times at which sleeping hosts wake up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use super::host::Host;
use super::hosts::Hosts;
use super::job::HostId;

/// The alarms of all hosts, the earliest first. A host may have several; only the earliest
/// is noted in the host, and the others wake it for nothing.
#[derive(Default)]
pub(super) struct Alarms(BinaryHeap<Reverse<(Instant, HostId)>>);

impl Alarms {
    /// Sets the alarm of a host, unless it has an earlier one.
    pub(super) fn set(&mut self, id: HostId, host: &mut Host, at: Instant) {
        if host.alarm.is_none_or(|alarm| at < alarm) {
            host.alarm = Some(at);
            self.0.push(Reverse((at, id)));
        }
    }

    /// Takes the next host whose time has come.
    pub(super) fn pop_due(&mut self, hosts: &mut Hosts, now: Instant) -> Option<HostId> {
        let Reverse((at, id)) = *self.0.peek()?;
        if at > now {
            return None;
        }
        self.0.pop();
        let alarm = &mut hosts[id].alarm;
        if *alarm == Some(at) {
            *alarm = None;
        }
        Some(id)
    }

    /// Returns the time of the earliest alarm.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
