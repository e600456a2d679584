//! What a fetch has to know of its host before a request, and what becomes of a host that
//! throttles or does not answer.

use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use crawl_core::{BusyHost, FetchError, Visit};
use web::Address;

use super::host::Host;
use super::host_queues::HostQueues;
use super::job::{Effects, HostId};
use super::rules_state::RulesState;
use crate::health::{CircuitBreaker, Health};
use crate::rules::Rules;

impl HostQueues {
    /// Returns the rules of a site if they are known, and none if they will not be known
    /// any more. If they are pending, they are fetched, and the caller has to ask again.
    pub(crate) fn rules(
        &mut self,
        site: Address<'_>,
        now: Instant,
    ) -> (Poll<Option<Rc<Rules>>>, Effects) {
        let mut effects = Effects::default();
        let (id, origin) = (self.id(site), usize::from(site.is_secure()));
        let (is_stopped, robots) = (self.is_stopped(), self.dispatcher.robots);
        let host = self.host(id);
        host.rules_wanted = None;
        if let RulesState::Known(rules) = &host.rules[origin] {
            let rules = Rc::clone(rules);
            self.dispatcher.evict_rules(id);
            return (Poll::Ready(Some(rules)), effects);
        }
        if is_stopped || host.given_up.is_some() {
            return (Poll::Ready(None), effects);
        }
        if robots {
            host.rules_wanted = Some(origin);
        }
        self.dispatcher.start_ready(id, now, &mut effects);
        (Poll::Pending, effects)
    }

    /// Takes the turn of a further request for a job that has started. Returns `None` if
    /// the request may start now. Otherwise reserves the next free time and returns it, so
    /// that waiting jobs cannot overtake the request forever. Call again with `is_taken` once
    /// that time has come; if the host was paused meanwhile, a new time is reserved.
    ///
    /// # Errors
    /// When the host is given up.
    pub(crate) fn take_turn(
        &mut self,
        address: Address<'_>,
        is_taken: bool,
        now: Instant,
    ) -> Result<Option<Instant>, FetchError> {
        let id = self.id(address);
        let Host { rules, rate_limit, .. } = self.host(id);
        if let Some(error) = rules[usize::from(address.is_secure())].dead() {
            return Err(error.clone());
        }
        if is_taken && rate_limit.paused_until <= Some(now) {
            return Ok(None);
        }
        let wait = rate_limit.next_start().filter(|at| *at > now);
        rate_limit.start(wait.unwrap_or(now));
        Ok(wait)
    }

    /// Records the result of one attempt: a response, or an error without one.
    pub(crate) fn record_attempt(
        &mut self,
        visit: &Visit,
        error: Option<&FetchError>,
        now: Instant,
    ) -> (Health, Effects) {
        let mut effects = Effects::default();
        let (id, origin) = (self.id(visit.url()), usize::from(visit.url().is_secure()));
        if let Some(error) = error
            && !(visit.has_request() && visit.has_response())
        {
            let health = self.host(id).breakers[origin].record_failure(visit, now);
            if health == Health::GivenUp {
                self.give_up_origin(id, origin, error, now, &mut effects);
            }
            return (health, effects);
        }
        self.host(id).breakers[origin] = CircuitBreaker::default();
        match visit.status() {
            Some(status) if visit.is_busy() => {
                self.record_throttled(id, status, visit, now, &mut effects);
            }
            _ => {
                let host = self.host(id);
                host.answers += 1;
                host.rate_limit.answered(visit.begun());
            }
        }
        (Health::Alive, effects)
    }

    /// Gives up an origin that does not answer: its other URLs end with this error, at once.
    fn give_up_origin(
        &mut self,
        id: HostId,
        origin: usize,
        error: &FetchError,
        now: Instant,
        effects: &mut Effects,
    ) {
        let host = self.host(id);
        // If a robots.txt is being fetched, that request fails, too.
        if !host.rules[origin].is_pending() && host.rules[origin].dead().is_none() {
            let rules = Rules::of_dead_host(&host.name, error);
            self.dispatcher.set_rules(id, origin, RulesState::Known(Rc::new(rules)));
            self.dispatcher.start_ready(id, now, effects);
        }
    }

    /// Records a 429 or 503.
    fn record_throttled(
        &mut self,
        id: HostId,
        status: u16,
        visit: &Visit,
        now: Instant,
        effects: &mut Effects,
    ) {
        let (is_ending, max_wait) = (self.is_ending, self.max_wait);
        let host = self.host(id);
        if is_ending {
            // These URLs are on their last attempt.
            return host.rate_limit.pause(now + max_wait / 600);
        }
        let in_flight = (host.in_flight, !host.jobs.is_empty());
        host.rate_limit.throttled(status, visit.begun(), in_flight, visit.retry_after(), now);
        if let Some(status) = host.rate_limit.given_up(now) {
            self.give_up_host(id, status, now, effects);
        }
    }

    /// Leaves the jobs of a host that has throttled everything for too long to a later run.
    /// URLs that were requested before get their last attempt.
    fn give_up_host(&mut self, id: HostId, status: u16, now: Instant, effects: &mut Effects) {
        let host = self.host(id);
        if host.given_up.is_none() {
            host.given_up = Some(BusyHost { host: Arc::clone(&host.name), status, todo: 0 });
        }
        while let Some((waiting, deferrals)) = self.dispatcher.hosts.update(id, Host::pop) {
            match deferrals {
                None => self.leave_todo(id, waiting, effects),
                Some(mut deferrals) => {
                    deferrals.is_last = true;
                    self.add_last_chance(id, now, waiting, deferrals);
                }
            }
        }
        self.dispatcher.start_ready(id, now, effects);
        self.dispatcher.evict_rules(id);
        // A sitemap is not a job, so no `release` will follow this answer.
        self.start_last_chances(now, effects);
    }

    /// Returns true if the host of a URL is given up because it throttled everything for too
    /// long.
    pub(crate) fn is_given_up(&mut self, address: Address<'_>) -> bool {
        let id = self.id(address);
        self.host(id).given_up.is_some()
    }
}
