//! Per-host queues: hold the jobs of hosts that are in use or have to be left
//! alone, choose the host that may be asked next, and share the workers fairly.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::mem;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::rate_limit::RateLimit;
use super::robots::Rules;

/// Limit on the memory for the rules of all hosts, in bytes. Above it, the rules
/// of a host without work are dropped, and fetched again if it gets work again.
const MAX_RULES_SIZE: usize = 64 << 20;

/// All hosts of a crawl, and the jobs (`J`) that wait for one of them.
///
/// A host that cannot be asked now keeps its jobs here, in order, so that they do
/// not block other hosts. A job that may run is
/// [released](HostQueues::take_released): it comes back through the queue of the
/// crawl and tries to start again.
///
/// The rules by which hosts share the workers:
///
/// 1. A host may use all workers when it is the only one with work.
/// 2. Otherwise each host has its share. A host that sleeps until a deadline needs
///    no worker, but one worker is kept free for a host that wakes up.
/// 3. A host that has no worker may have the next one.
///
/// A job is deferred only while an event is certain to release it: a timer, or
/// the end of a request to the same host. And no more jobs are released than can
/// start. So every job runs in the end, and none circles through the queue for ever.
pub(super) struct HostQueues<J> {
    ids: HashMap<Rc<str>, HostId>,
    hosts: Vec<Host<J>>,
    /// Host that was looked up last: a cache of one, since the next look-up is
    /// usually for the same host.
    last_id: HostId,
    /// Number of workers.
    max_tasks: usize,
    /// Minimum time between the starts of two requests to one host.
    interval: Duration,
    /// Number of hosts that have work.
    with_work: usize,
    /// Number of those that sleep until a timer.
    asleep: usize,
    /// Number of requests in flight, to all hosts.
    in_flight: usize,
    /// Number of released jobs that have not come out of the queue yet.
    released: usize,
    /// Deadlines of the sleeping hosts, the earliest first.
    timers: BinaryHeap<Reverse<(Instant, HostId)>>,
    /// Hosts that keep jobs because they have no more room; each has a request in
    /// flight.
    blocked: VecDeque<HostId>,
    /// Memory for the rules of all hosts, in bytes.
    rules_size: usize,
    /// Jobs that are released and not taken yet.
    ready: Vec<J>,
}

/// An index that stands for a host. Small, since every dispatched job has one.
pub(super) type HostId = u32;

/// One host: a name and a port, for both schemes.
pub(super) struct Host<J> {
    name: Rc<str>,
    pub(super) rate_limit: RateLimit,
    /// Rules of the http origin and of the https origin.
    rules: [Rules; 2],
    /// Number of jobs that are not done.
    work: usize,
    in_flight: usize,
    /// Number of released jobs that have not come out of the queue yet.
    released: usize,
    /// Jobs that wait here.
    deferred: VecDeque<J>,
    /// True while the host waits for a timer.
    is_asleep: bool,
    /// True while the host is in [`HostQueues::blocked`].
    is_blocked: bool,
}

impl<J> Host<J> {
    /// Returns true if the host has jobs that are not done.
    pub(super) fn has_work(&self) -> bool {
        self.work > 0
    }

    /// Returns the rules of one origin of the host.
    pub(super) fn rules(&self, is_secure: bool) -> &Rules {
        &self.rules[usize::from(is_secure)]
    }

    fn is_waiting_for_rules(&self) -> bool {
        self.rules.iter().any(|rules| matches!(rules, Rules::Pending))
    }
}

impl<J> HostQueues<J> {
    pub(super) fn new(max_tasks: usize, interval: Duration) -> Self {
        Self {
            ids: HashMap::new(),
            hosts: Vec::new(),
            last_id: 0,
            max_tasks,
            interval,
            with_work: 0,
            asleep: 0,
            in_flight: 0,
            released: 0,
            timers: BinaryHeap::new(),
            blocked: VecDeque::new(),
            rules_size: 0,
            ready: Vec::new(),
        }
    }

    /// Returns the id of the host with this name, and adds the host if it is new.
    pub(super) fn id(&mut self, authority: &str) -> HostId {
        if self.hosts.get(self.last_id as usize).is_some_and(|host| *host.name == *authority) {
            return self.last_id;
        }
        if let Some(&id) = self.ids.get(authority) {
            self.last_id = id;
            return id;
        }
        let (id, name) = (self.hosts.len() as HostId, Rc::from(authority));
        self.ids.insert(Rc::clone(&name), id);
        self.hosts.push(Host {
            name,
            rate_limit: RateLimit::new(self.interval, self.max_tasks),
            rules: [Rules::Unknown, Rules::Unknown],
            work: 0,
            in_flight: 0,
            released: 0,
            deferred: VecDeque::new(),
            is_asleep: false,
            is_blocked: false,
        });
        id
    }

    pub(super) fn host(&self, id: HostId) -> &Host<J> {
        &self.hosts[id as usize]
    }

    pub(super) fn host_mut(&mut self, id: HostId) -> &mut Host<J> {
        &mut self.hosts[id as usize]
    }

    /// Sets the rules of one origin of the host.
    pub(super) fn set_rules(&mut self, id: HostId, is_secure: bool, rules: Rules) {
        let host = &mut self.hosts[id as usize];
        if let Rules::Known { robots, .. } = &rules
            && let Some(delay) = robots.crawl_delay()
        {
            host.rate_limit.slow_down(delay);
        }
        self.rules_size += rules.length();
        self.rules_size -= host.rules(is_secure).length();
        host.rules[usize::from(is_secure)] = rules;
    }

    /// Returns the number of jobs that wait in the queues of all hosts.
    pub(super) fn deferred(&self) -> usize {
        self.hosts.iter().map(|host| host.deferred.len()).sum()
    }

    /// Counts one more job for this host.
    pub(super) fn add_work(&mut self, id: HostId) {
        let host = &mut self.hosts[id as usize];
        self.with_work += usize::from(host.work == 0);
        host.work += 1;
    }

    /// Counts one job of this host as done.
    pub(super) fn finish(&mut self, id: HostId) {
        let host = &mut self.hosts[id as usize];
        host.work -= 1;
        if host.work == 0 {
            self.with_work -= 1;
            if self.rules_size > MAX_RULES_SIZE {
                self.set_rules(id, false, Rules::Unknown);
                self.set_rules(id, true, Rules::Unknown);
            }
        }
    }

    /// Notes that a job for this host has come out of the queue, perhaps one that
    /// was released.
    pub(super) fn arrived(&mut self, id: HostId) {
        let host = &mut self.hosts[id as usize];
        if host.released > 0 {
            host.released -= 1;
            self.released -= 1;
        }
    }

    /// Starts a request, if the host may be asked now.
    pub(super) fn start(&mut self, id: HostId, now: Instant) -> bool {
        let is_too_early =
            self.hosts[id as usize].rate_limit.next_start().is_some_and(|at| now < at);
        if is_too_early || self.room(id) == 0 {
            return false;
        }
        let host = &mut self.hosts[id as usize];
        host.rate_limit.start(now);
        host.in_flight += 1;
        self.in_flight += 1;
        self.refill(id, now);
        true
    }

    /// Returns the number of requests to this host that are in flight.
    pub(super) fn in_flight(&self, id: HostId) -> usize {
        self.hosts[id as usize].in_flight
    }

    /// Ends a request.
    pub(super) fn end(&mut self, id: HostId) {
        self.hosts[id as usize].in_flight -= 1;
        self.in_flight -= 1;
    }

    /// Defers a job that cannot start now: it waits behind the others of its host.
    pub(super) fn defer(&mut self, id: HostId, job: J, now: Instant) {
        self.hosts[id as usize].deferred.push_back(job);
        self.refill(id, now);
    }

    /// Defers a job that comes before all others of its host.
    pub(super) fn defer_first(&mut self, id: HostId, job: J) {
        self.hosts[id as usize].deferred.push_front(job);
    }

    /// Releases the jobs of this host for which there is room now, and then those
    /// of the blocked hosts.
    pub(super) fn refill_all(&mut self, id: HostId, now: Instant) {
        self.refill(id, now);
        for _ in 0..self.blocked.len() {
            if self.in_flight + self.released >= self.max_tasks {
                return;
            }
            if let Some(other) = self.blocked.pop_front() {
                self.hosts[other as usize].is_blocked = false;
                self.refill(other, now);
            }
        }
    }

    /// Returns the earliest deadline of a timer.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.timers.peek().map(|Reverse((at, _))| *at)
    }

    /// Wakes the hosts whose timers have expired.
    pub(super) fn wake(&mut self, now: Instant) {
        while self.next_timer().is_some_and(|at| at <= now)
            && let Some(Reverse((_, id))) = self.timers.pop()
        {
            self.hosts[id as usize].is_asleep = false;
            self.asleep -= 1;
            self.refill(id, now);
        }
    }

    /// Releases all jobs, without regard to their hosts' limits.
    pub(super) fn release_all(&mut self) {
        for host in &mut self.hosts {
            self.ready.extend(host.deferred.drain(..));
        }
    }

    /// Takes the released jobs, the first one first.
    pub(super) fn take_released(&mut self) -> Vec<J> {
        mem::take(&mut self.ready)
    }

    /// Releases the jobs of a host for which there is room, or sets its timer.
    fn refill(&mut self, id: HostId, now: Instant) {
        let room = self.room(id);
        let host = &mut self.hosts[id as usize];
        if host.deferred.is_empty() || host.is_asleep || host.is_waiting_for_rules() {
            return;
        }
        let is_abandoned = host.rate_limit.is_abandoned();
        if let Some(at) = host.rate_limit.next_start().filter(|&at| now < at && !is_abandoned) {
            host.is_asleep = true;
            self.asleep += 1;
            self.timers.push(Reverse((at, id)));
            return;
        }
        // Jobs of an abandoned host are refused without a request, so they need no
        // room.
        let room = if is_abandoned { usize::MAX } else { room }.min(host.deferred.len());
        self.ready.extend(host.deferred.drain(..room));
        host.released += room;
        self.released += room;
        if !host.deferred.is_empty() && !mem::replace(&mut host.is_blocked, true) {
            self.blocked.push_back(id);
        }
    }

    /// Returns the number of further requests to this host that may start, beside
    /// those of the jobs that are released already.
    fn room(&self, id: HostId) -> usize {
        let host = &self.hosts[id as usize];
        let taken = host.in_flight + host.released;
        if taken == 0 {
            return 1.max(self.room_beyond(host, 0));
        }
        self.room_beyond(host, taken)
    }

    /// Returns the room of a host that has taken `taken` workers already.
    fn room_beyond(&self, host: &Host<J>, taken: usize) -> usize {
        let share = self.max_tasks.div_ceil((self.with_work - self.asleep).max(1));
        let mut room = host.rate_limit.limit().min(share).saturating_sub(taken);
        if self.asleep > 0 {
            let free = self.max_tasks.saturating_sub(1 + self.in_flight + self.released);
            room = room.min(free);
        }
        if host.rate_limit.has_interval() {
            room = room.min(usize::from(host.released == 0));
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::politeness::robots::Rules;

    const NAMES: [&str; 4] = ["a.test", "b.test", "c.test", "d.test"];

    /// A job: the index of its host, and its duration in seconds.
    type Job = (usize, u64);

    /// Simulates workers around a queue, as the crawler has them, on a virtual
    /// clock. Returns the greatest number of requests in flight for each host, and
    /// how often a job came out of the queue.
    fn simulate(
        jobs: &[Job],
        max_tasks: usize,
        interval: u64,
        limits: [usize; 4],
    ) -> ([usize; 4], usize) {
        let begun = Instant::now();
        let mut now = begun;
        let mut host_queues = HostQueues::new(max_tasks, Duration::from_secs(interval));
        let ids = NAMES.map(|name| host_queues.id(name));
        for (id, limit) in ids.into_iter().zip(limits) {
            // A refusal halves the limit.
            host_queues.host_mut(id).rate_limit.refused(now, 2 * limit, None, now);
        }
        let mut queue = VecDeque::from(jobs.to_vec());
        jobs.iter().for_each(|(host, _)| host_queues.add_work(ids[*host]));
        let mut busy: Vec<(Instant, usize)> = Vec::new();
        let (mut done, mut arrivals, mut peak) = (0, 0, [0; 4]);
        while done < jobs.len() {
            while busy.len() < max_tasks
                && let Some(job) = queue.pop_front()
            {
                arrivals += 1;
                let id = ids[job.0];
                host_queues.arrived(id);
                if host_queues.start(id, now) {
                    busy.push((now + Duration::from_secs(job.1), job.0));
                    peak[job.0] = peak[job.0].max(host_queues.in_flight(id));
                } else {
                    host_queues.defer(id, job, now);
                }
                host_queues.take_released().into_iter().rev().for_each(|job| queue.push_front(job));
            }
            let ends = busy.iter().map(|(end, _)| *end);
            let next = ends.chain(host_queues.next_timer()).min();
            now = next.expect("nobody is forgotten").max(now);
            for (_, host) in busy.extract_if(.., |(end, _)| *end <= now) {
                host_queues.end(ids[host]);
                host_queues.finish(ids[host]);
                host_queues.refill_all(ids[host], now);
                done += 1;
            }
            host_queues.wake(now);
            host_queues.take_released().into_iter().rev().for_each(|job| queue.push_front(job));
        }
        assert_eq!(
            (host_queues.deferred(), host_queues.in_flight, host_queues.released),
            (0, 0, 0)
        );
        assert_eq!(
            (host_queues.with_work, host_queues.asleep, host_queues.next_timer()),
            (0, 0, None)
        );
        (peak, arrivals)
    }

    proptest! {
        /// For any hosts, rates and jobs: all jobs are done, no host gets more
        /// requests at a time than its limit, and no job goes round in circles.
        #[test]
        fn every_job_is_done_and_leaves_the_queue_at_peak_three_times(
            jobs in prop::collection::vec((0..4_usize, 0..9_u64), 0..60),
            max_tasks in 1..8_usize,
            interval in 0..3_u64,
            limits in prop::array::uniform4(1..4_usize),
        ) {
            let (peak, arrivals) = simulate(&jobs, max_tasks, interval, limits);
            for (peak, limit) in peak.into_iter().zip(limits) {
                prop_assert!(peak <= limit.min(max_tasks));
            }
            prop_assert!(arrivals <= 3 * jobs.len(), "{arrivals} of {}", jobs.len());
        }
    }

    #[test]
    fn the_rules_of_hosts_without_work_are_dropped_when_they_take_too_much_memory() {
        let rules = || Rules::Known {
            robots: Default::default(),
            length: MAX_RULES_SIZE / 2,
            reason: String::new(),
        };
        let mut host_queues: HostQueues<Job> = HostQueues::new(1, Duration::ZERO);
        let ids = NAMES.map(|name| host_queues.id(name));
        for id in ids {
            host_queues.add_work(id);
            host_queues.set_rules(id, false, rules());
            host_queues.finish(id);
        }
        let is_known = |id| matches!(host_queues.host(id).rules(false), Rules::Known { .. });
        assert_eq!(ids.map(is_known), [true, true, false, false]);
    }
}
