//! Fair shares: how many workers each host may use at a time, and whose turn it is when
//! there are too few.

use std::collections::VecDeque;
use std::time::Instant;

use super::host::Host;
use super::hosts::{Hosts, Sums};
use super::job::HostId;

/// Number of jobs that a host starts one after another while other hosts wait for a
/// worker (round robin with a quantum). So its connections can be used again.
const QUANTUM: u32 = 8;

/// The rules by which hosts share the workers:
///
/// 1. A host may use all workers when it is the only one with work.
/// 2. Otherwise each host has its share. A host that sleeps until a time needs no
///    worker, but one worker is kept free for a host that wakes up.
/// 3. Hosts that wait for a worker get the next ones in turn.
pub(super) struct Shares {
    num_workers: usize,
    /// Hosts with jobs that wait for a free worker, in turn.
    queue: VecDeque<HostId>,
}

impl Shares {
    pub(super) fn new(num_workers: usize) -> Self {
        Self { num_workers, queue: VecDeque::new() }
    }

    /// Lets a host wait in turn for a worker.
    pub(super) fn enqueue(&mut self, id: HostId, host: &mut Host) {
        if !host.is_queued {
            host.is_queued = true;
            self.queue.push_back(id);
        }
    }

    /// Returns the number of hosts that wait for a worker.
    pub(super) fn num_queued(&self) -> usize {
        self.queue.len()
    }

    /// Takes the host whose turn it is, if a worker is free.
    pub(super) fn dequeue(&mut self, hosts: &mut Hosts) -> Option<HostId> {
        if hosts.sums().in_flight == self.num_workers {
            return None;
        }
        let id = self.queue.pop_front()?;
        hosts[id].is_queued = false;
        Some(id)
    }

    /// Counts a job of a host that has ended. Returns true if its turn goes on.
    pub(super) fn use_turn(host: &mut Host) -> bool {
        host.quantum_used = (host.quantum_used + 1) % QUANTUM;
        host.quantum_used > 0
    }

    /// Returns the number of jobs of a host that may start now.
    pub(super) fn free_slots(&self, host: &mut Host, sums: Sums, now: Instant) -> usize {
        let share = self.num_workers.div_ceil(sums.active.saturating_sub(sums.asleep).max(1));
        let free = self.num_workers - sums.in_flight;
        let unreserved = free.saturating_sub(usize::from(sums.asleep > 0));
        let limit = host.rate_limit.free_slots(host.in_flight, now);
        let slots = limit.min(share.saturating_sub(host.in_flight)).min(unreserved);
        // The first job of each host needs a free worker only.
        slots.max(usize::from(host.in_flight == 0)).min(free)
    }
}
