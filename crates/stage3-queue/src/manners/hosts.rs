//! Which host may be asked next.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::mem;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::pace::Pace;
use super::robots::Rules;

/// When the rules of all hosts take more bytes than this, those of a host
/// without work are forgotten. Should there be work again, they are asked for
/// again.
const MOST_RULES: usize = 64 << 20;

/// All hosts of a crawl, and the jobs (`J`) that wait for one of them.
///
/// A host that cannot be asked now keeps its jobs here, in order, so that they
/// are in nobody's way. What may go on is [called](Hosts::take_called); then it
/// comes back by way of the queue, and asks again.
///
/// The rules by which workers are shared out:
///
/// 1. A host may have all of them when it is the only one with work.
/// 2. Otherwise each has its share. A host that sleeps until some moment needs
///    none, but one worker is left free for whoever wakes up.
/// 3. A host that has no worker may have the next one.
///
/// A job is kept only while something is sure to come: a moment (an alarm), or
/// the end of a request to the same host. That, and calling no more jobs than
/// there is room for, is why nobody is forgotten and nobody runs in circles.
pub(super) struct Hosts<J> {
    ids: HashMap<Rc<str>, HostId>,
    hosts: Vec<Host<J>>,
    /// The one that was asked for last: most often, it is asked for again.
    last: HostId,
    /// How many workers there are.
    max_tasks: usize,
    /// Between the beginnings of two requests to one host, at least.
    interval: Duration,
    /// How many hosts have work, and how many of them sleep.
    with_work: usize,
    asleep: usize,
    in_flight: usize,
    called: usize,
    alarms: BinaryHeap<Reverse<(Instant, HostId)>>,
    /// Hosts that keep jobs for want of room; each has a request under way.
    crowded: VecDeque<HostId>,
    /// How many bytes the rules of all hosts take.
    rules: usize,
    /// Jobs that may go on.
    ready: Vec<J>,
}

/// Names a host. Every turn has one, and of hosts there are fewer than URLs.
pub(super) type HostId = u32;

/// One host: a name and a port, whatever the scheme.
pub(super) struct Host<J> {
    name: Rc<str>,
    pub(super) pace: Pace,
    /// Those of http and of https.
    rules: [Rules; 2],
    /// Jobs that are not done.
    work: usize,
    in_flight: usize,
    /// How many jobs are on their way through the queue because they were
    /// called.
    called: usize,
    parked: VecDeque<J>,
    is_asleep: bool,
    is_crowded: bool,
}

impl<J> Host<J> {
    pub(super) fn has_work(&self) -> bool {
        self.work > 0
    }

    pub(super) fn rules(&self, is_secure: bool) -> &Rules {
        &self.rules[usize::from(is_secure)]
    }

    fn is_waiting_for_rules(&self) -> bool {
        self.rules.iter().any(|rules| matches!(rules, Rules::Asked))
    }
}

impl<J> Hosts<J> {
    pub(super) fn new(max_tasks: usize, interval: Duration) -> Self {
        Self {
            ids: HashMap::new(),
            hosts: Vec::new(),
            last: 0,
            max_tasks,
            interval,
            with_work: 0,
            asleep: 0,
            in_flight: 0,
            called: 0,
            alarms: BinaryHeap::new(),
            crowded: VecDeque::new(),
            rules: 0,
            ready: Vec::new(),
        }
    }

    /// The host of this name, which nobody may have heard of before.
    pub(super) fn id(&mut self, authority: &str) -> HostId {
        if self.hosts.get(self.last as usize).is_some_and(|host| *host.name == *authority) {
            return self.last;
        }
        if let Some(&id) = self.ids.get(authority) {
            self.last = id;
            return id;
        }
        let (id, name) = (self.hosts.len() as HostId, Rc::from(authority));
        self.ids.insert(Rc::clone(&name), id);
        self.hosts.push(Host {
            name,
            pace: Pace::new(self.interval, self.max_tasks),
            rules: [Rules::Unknown, Rules::Unknown],
            work: 0,
            in_flight: 0,
            called: 0,
            parked: VecDeque::new(),
            is_asleep: false,
            is_crowded: false,
        });
        id
    }

    pub(super) fn host(&self, id: HostId) -> &Host<J> {
        &self.hosts[id as usize]
    }

    pub(super) fn host_mut(&mut self, id: HostId) -> &mut Host<J> {
        &mut self.hosts[id as usize]
    }

    /// What is known of the host's robots.txt is this from now on.
    pub(super) fn set_rules(&mut self, id: HostId, is_secure: bool, rules: Rules) {
        let host = &mut self.hosts[id as usize];
        if let Rules::Known { robots, .. } = &rules
            && let Some(delay) = robots.crawl_delay()
        {
            host.pace.slow_down(delay);
        }
        self.rules += rules.length();
        self.rules -= host.rules(is_secure).length();
        host.rules[usize::from(is_secure)] = rules;
    }

    /// How many jobs are kept here.
    pub(super) fn parked(&self) -> usize {
        self.hosts.iter().map(|host| host.parked.len()).sum()
    }

    /// There is one more job for this host.
    pub(super) fn add_work(&mut self, id: HostId) {
        let host = &mut self.hosts[id as usize];
        self.with_work += usize::from(host.work == 0);
        host.work += 1;
    }

    /// And one less.
    pub(super) fn finish(&mut self, id: HostId) {
        let host = &mut self.hosts[id as usize];
        host.work -= 1;
        if host.work == 0 {
            self.with_work -= 1;
            if self.rules > MOST_RULES {
                self.set_rules(id, false, Rules::Unknown);
                self.set_rules(id, true, Rules::Unknown);
            }
        }
    }

    /// A job for this host has come out of the queue, perhaps one that was
    /// called.
    pub(super) fn arrived(&mut self, id: HostId) {
        let host = &mut self.hosts[id as usize];
        if host.called > 0 {
            host.called -= 1;
            self.called -= 1;
        }
    }

    /// Begins a request, if the host may be asked now.
    pub(super) fn start(&mut self, id: HostId, now: Instant) -> bool {
        let is_too_early = self.hosts[id as usize].pace.next_start().is_some_and(|at| now < at);
        if is_too_early || self.room(id) == 0 {
            return false;
        }
        let host = &mut self.hosts[id as usize];
        host.pace.start(now);
        host.in_flight += 1;
        self.in_flight += 1;
        self.settle(id, now);
        true
    }

    /// How many requests to this host are under way.
    pub(super) fn in_flight(&self, id: HostId) -> usize {
        self.hosts[id as usize].in_flight
    }

    /// Ends a request.
    pub(super) fn end(&mut self, id: HostId) {
        self.hosts[id as usize].in_flight -= 1;
        self.in_flight -= 1;
    }

    /// Keeps a job for which there is no time now.
    pub(super) fn park(&mut self, id: HostId, job: J, now: Instant) {
        self.hosts[id as usize].parked.push_back(job);
        self.settle(id, now);
    }

    /// Keeps a job that comes before all others of its host.
    pub(super) fn park_first(&mut self, id: HostId, job: J) {
        self.hosts[id as usize].parked.push_front(job);
    }

    /// Something has changed for this host: it, and the others, may have room.
    pub(super) fn settle_all(&mut self, id: HostId, now: Instant) {
        self.settle(id, now);
        for _ in 0..self.crowded.len() {
            if self.in_flight + self.called >= self.max_tasks {
                return;
            }
            if let Some(other) = self.crowded.pop_front() {
                self.hosts[other as usize].is_crowded = false;
                self.settle(other, now);
            }
        }
    }

    /// The next moment at which something is to be done.
    pub(super) fn next_alarm(&self) -> Option<Instant> {
        self.alarms.peek().map(|Reverse((at, _))| *at)
    }

    /// Wakes the hosts whose moment has come.
    pub(super) fn wake(&mut self, now: Instant) {
        while self.next_alarm().is_some_and(|at| at <= now)
            && let Some(Reverse((_, id))) = self.alarms.pop()
        {
            self.hosts[id as usize].is_asleep = false;
            self.asleep -= 1;
            self.settle(id, now);
        }
    }

    /// Calls all jobs, whatever their hosts want.
    pub(super) fn call_all(&mut self) {
        for host in &mut self.hosts {
            self.ready.extend(host.parked.drain(..));
        }
    }

    /// The jobs that may go on, the first one first.
    pub(super) fn take_called(&mut self) -> Vec<J> {
        mem::take(&mut self.ready)
    }

    /// Calls the jobs of a host for which there is room, or sets its alarm.
    fn settle(&mut self, id: HostId, now: Instant) {
        let room = self.room(id);
        let host = &mut self.hosts[id as usize];
        if host.parked.is_empty() || host.is_asleep || host.is_waiting_for_rules() {
            return;
        }
        let is_given_up = host.pace.is_given_up();
        if let Some(at) = host.pace.next_start().filter(|&at| now < at && !is_given_up) {
            host.is_asleep = true;
            self.asleep += 1;
            self.alarms.push(Reverse((at, id)));
            return;
        }
        // For those of a host that is given up there is a word, but no request.
        let room = if is_given_up { usize::MAX } else { room }.min(host.parked.len());
        self.ready.extend(host.parked.drain(..room));
        host.called += room;
        self.called += room;
        if !host.parked.is_empty() && !mem::replace(&mut host.is_crowded, true) {
            self.crowded.push_back(id);
        }
    }

    /// How many more requests to this host there may be, besides those of the
    /// jobs that are called already.
    fn room(&self, id: HostId) -> usize {
        let host = &self.hosts[id as usize];
        let taken = host.in_flight + host.called;
        if taken == 0 {
            return 1.max(self.room_beyond(host, 0));
        }
        self.room_beyond(host, taken)
    }

    fn room_beyond(&self, host: &Host<J>, taken: usize) -> usize {
        let share = self.max_tasks.div_ceil((self.with_work - self.asleep).max(1));
        let mut room = host.pace.limit().min(share).saturating_sub(taken);
        if self.asleep > 0 {
            let free = self.max_tasks.saturating_sub(1 + self.in_flight + self.called);
            room = room.min(free);
        }
        if host.pace.is_measured() {
            room = room.min(usize::from(host.called == 0));
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::manners::robots::Rules;

    const NAMES: [&str; 4] = ["a.test", "b.test", "c.test", "d.test"];

    /// A job: which host, and for how many seconds.
    type Job = (usize, u64);

    /// Workers around a queue, as the crawler has them, on a clock that jumps.
    /// Returns the most that were under way for each host at a time, and how
    /// many jobs came out of the queue.
    fn work_off(
        jobs: &[Job],
        max_tasks: usize,
        interval: u64,
        limits: [usize; 4],
    ) -> ([usize; 4], usize) {
        let begun = Instant::now();
        let mut now = begun;
        let mut hosts = Hosts::new(max_tasks, Duration::from_secs(interval));
        let ids = NAMES.map(|name| hosts.id(name));
        for (id, limit) in ids.into_iter().zip(limits) {
            // A host that was asked twice as much at a time, and had no time.
            hosts.host_mut(id).pace.refused(now, 2 * limit, None, now);
        }
        let mut queue = VecDeque::from(jobs.to_vec());
        jobs.iter().for_each(|(host, _)| hosts.add_work(ids[*host]));
        let mut busy: Vec<(Instant, usize)> = Vec::new();
        let (mut done, mut arrivals, mut most) = (0, 0, [0; 4]);
        while done < jobs.len() {
            while busy.len() < max_tasks
                && let Some(job) = queue.pop_front()
            {
                arrivals += 1;
                let id = ids[job.0];
                hosts.arrived(id);
                if hosts.start(id, now) {
                    busy.push((now + Duration::from_secs(job.1), job.0));
                    most[job.0] = most[job.0].max(hosts.in_flight(id));
                } else {
                    hosts.park(id, job, now);
                }
                hosts.take_called().into_iter().rev().for_each(|job| queue.push_front(job));
            }
            let ends = busy.iter().map(|(end, _)| *end);
            let next = ends.chain(hosts.next_alarm()).min();
            now = next.expect("nobody is forgotten").max(now);
            for (_, host) in busy.extract_if(.., |(end, _)| *end <= now) {
                hosts.end(ids[host]);
                hosts.finish(ids[host]);
                hosts.settle_all(ids[host], now);
                done += 1;
            }
            hosts.wake(now);
            hosts.take_called().into_iter().rev().for_each(|job| queue.push_front(job));
        }
        assert_eq!((hosts.parked(), hosts.in_flight, hosts.called), (0, 0, 0));
        assert_eq!((hosts.with_work, hosts.asleep, hosts.next_alarm()), (0, 0, None));
        (most, arrivals)
    }

    proptest! {
        /// Whatever the hosts, their paces and their jobs: all of it is worked
        /// off, no host is asked more at a time than it can stand, and nobody
        /// runs in circles.
        #[test]
        fn nobody_is_forgotten_and_nobody_runs_in_circles(
            jobs in prop::collection::vec((0..4_usize, 0..9_u64), 0..60),
            max_tasks in 1..8_usize,
            interval in 0..3_u64,
            limits in prop::array::uniform4(1..4_usize),
        ) {
            let (most, arrivals) = work_off(&jobs, max_tasks, interval, limits);
            for (most, limit) in most.into_iter().zip(limits) {
                prop_assert!(most <= limit.min(max_tasks));
            }
            prop_assert!(arrivals <= 3 * jobs.len(), "{arrivals} of {}", jobs.len());
        }
    }

    #[test]
    fn rules_are_forgotten_when_they_take_too_much() {
        let rules = || Rules::Known {
            robots: Default::default(),
            length: MOST_RULES / 2,
            reason: String::new(),
        };
        let mut hosts: Hosts<Job> = Hosts::new(1, Duration::ZERO);
        let ids = NAMES.map(|name| hosts.id(name));
        for id in ids {
            hosts.add_work(id);
            hosts.set_rules(id, false, rules());
            hosts.finish(id);
        }
        let is_known = |id| matches!(hosts.host(id).rules(false), Rules::Known { .. });
        assert_eq!(ids.map(is_known), [true, true, false, false]);
    }
}
