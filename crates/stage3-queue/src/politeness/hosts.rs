//! All hosts of a crawl, found by their names, with sums over them.

use std::collections::HashMap;
use std::ops::{Index, IndexMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crawl_core::{BusyHost, HostWait, Options, Pace};
use web::Address;

use super::host::Host;
use super::job::HostId;
use super::rate_limit::{MAX_INTERVAL, RateLimit};

/// All hosts of a crawl.
pub(super) struct Hosts {
    pace: Pace,
    max_wait: Duration,
    ids: HashMap<Arc<str>, HostId>,
    hosts: Vec<Host>,
    /// Host that was looked up last: a cache of one, since the next look-up is
    /// usually for the same host.
    last_id: HostId,
    sums: Sums,
}

/// Sums over all hosts. [`Hosts::update`] keeps them up to date.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    /// Number of hosts that have work.
    pub(super) active: usize,
    /// Number of those that sleep until a time.
    pub(super) asleep: usize,
    /// Number of jobs that have started and are not done.
    pub(super) in_flight: usize,
}

impl Hosts {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            pace: Pace::new(options, options.num_workers()),
            max_wait: options.settings.max_wait.min(MAX_INTERVAL),
            ids: HashMap::new(),
            hosts: Vec::new(),
            last_id: 0,
            sums: Sums::default(),
        }
    }

    /// Returns the id of the host of a URL, and adds the host if it is new; `is_of_site` as
    /// in [`Pace::of`].
    pub(super) fn id(&mut self, address: Address<'_>, is_of_site: bool) -> HostId {
        let is_last = |host: &Host| address.has_authority(&host.name);
        if self.hosts.get(self.last_id as usize).is_some_and(is_last) {
            return self.last_id;
        }
        let authority = address.authority();
        let known = self.ids.get(authority).copied();
        self.last_id = known.unwrap_or_else(|| {
            let name: Arc<str> = authority.into();
            self.ids.insert(Arc::clone(&name), self.hosts.len() as HostId);
            let (interval, max_tasks) = self.pace.of(address, is_of_site);
            let rate_limit = RateLimit::new(interval, self.max_wait, max_tasks);
            self.hosts.push(Host::new(name, rate_limit));
            self.hosts.len() as HostId - 1
        });
        self.last_id
    }

    /// Updates a host, and with it the sums over all hosts. Whatever changes its jobs, its
    /// requests in flight or its sleep has to go through here.
    pub(super) fn update<R>(&mut self, id: HostId, update: impl FnOnce(&mut Host) -> R) -> R {
        let (host, sums) = (&mut self.hosts[id as usize], &mut self.sums);
        sums.active -= usize::from(host.has_work());
        sums.asleep -= usize::from(host.is_asleep);
        sums.in_flight -= host.in_flight;
        let result = update(host);
        sums.active += usize::from(host.has_work());
        sums.asleep += usize::from(host.is_asleep);
        sums.in_flight += host.in_flight;
        result
    }

    pub(super) fn sums(&self) -> Sums {
        self.sums
    }

    /// Returns the hosts that the crawl waits for.
    pub(super) fn waits(&self, now: Instant) -> impl Iterator<Item = HostWait> {
        self.hosts.iter().filter_map(move |host| host.wait(now))
    }

    /// Returns the number of jobs that wait for their host.
    pub(super) fn num_waiting(&self) -> usize {
        self.hosts.iter().map(Host::waiting).sum()
    }

    /// Returns the number of robots.txt files that are being fetched.
    pub(super) fn num_pending_rules(&self) -> usize {
        let rules = self.hosts.iter().flat_map(|host| &host.rules);
        rules.filter(|rules| rules.is_pending()).count()
    }

    /// Returns the hosts that were given up with jobs left to do.
    pub(super) fn given_up(&self) -> Vec<BusyHost> {
        let given_up = self.hosts.iter().filter_map(|host| host.given_up.as_ref());
        given_up.filter(|host| host.todo > 0).cloned().collect()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = HostId> + use<> {
        0..self.hosts.len() as HostId
    }
}

impl Index<HostId> for Hosts {
    type Output = Host;

    fn index(&self, id: HostId) -> &Host {
        &self.hosts[id as usize]
    }
}

impl IndexMut<HostId> for Hosts {
    fn index_mut(&mut self, id: HostId) -> &mut Host {
        &mut self.hosts[id as usize]
    }
}
