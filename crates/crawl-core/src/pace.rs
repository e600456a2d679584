//! The pace at which hosts are asked.

use std::time::Duration;

use crate::host_options::of_host;
use crate::scope::Scope;
use crate::{HostOptions, Options};
use web::Address;

/// The pace at which each host is asked.
#[derive(Debug)]
pub struct Pace {
    scope: Scope,
    hosts: Vec<HostOptions>,
    interval: Duration,
    external_interval: Duration,
    max_tasks: usize,
}

/// Returns the time between requests of which there are so many a second.
fn interval_of(rate: Option<u32>) -> Duration {
    rate.map_or(Duration::ZERO, |rate| Duration::from_secs(1) / rate.max(1))
}

impl Pace {
    /// Creates the pace of a crawl with this limit on all requests at a time.
    pub fn new(options: &Options, max_tasks: usize) -> Self {
        let interval = options.settings.delay.max(interval_of(options.settings.rate_limit));
        Self {
            scope: Scope::new(options.settings.scope, &options.settings.roots),
            hosts: options.settings.hosts.clone(),
            interval,
            external_interval: interval.max(interval_of(options.settings.external_rate)),
            max_tasks,
        }
    }

    /// Returns the minimum time between two requests to the host of a URL, and the maximum
    /// number of requests at a time. `is_of_site` is true if the URL is known to be of the
    /// site, to which a root may have led by a redirect.
    pub fn of(&mut self, url: Address<'_>, is_of_site: bool) -> (Duration, usize) {
        let has_external_pace = self.external_interval > self.interval;
        let is_external = has_external_pace && !is_of_site && !self.scope.contains(url);
        let interval = if is_external { self.external_interval } else { self.interval };
        let Some(host) = of_host(&self.hosts, url) else { return (interval, self.max_tasks) };
        let of_host = match (host.delay, host.rate_limit) {
            (None, None) => interval,
            (delay, rate) => delay.unwrap_or_default().max(interval_of(rate)),
        };
        (of_host, host.max_tasks.unwrap_or(self.max_tasks).clamp(1, self.max_tasks))
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;
    use crate::HostPattern;

    #[test]
    fn the_most_exact_pattern_counts() {
        let mut options = Options::new(vec!["http://root.test/".parse().unwrap()]);
        (options.settings.rate_limit, options.settings.external_rate) = (Some(10), Some(2));
        for (pattern, delay) in [("*.test", 1), ("*.a.test", 2), ("b.a.test", 3)] {
            let host = HostPattern::parse(pattern).unwrap();
            let delay = Some(Duration::from_secs(delay));
            options.settings.hosts.push(HostOptions { delay, ..HostOptions::new(host) });
        }
        options.settings.hosts[1].max_tasks = Some(1_000);
        let mut pace = Pace::new(&options, 7);
        let mut of = |host: &str| {
            let url = Url::parse(&format!("http://{host}/")).unwrap();
            pace.of(Address::of(&url).unwrap(), false)
        };
        let seconds = Duration::from_secs;
        assert_eq!(of("b.a.test"), (seconds(3), 7));
        assert_eq!(of("c.a.test"), (seconds(2), 7));
        assert_eq!(of("c.test"), (seconds(1), 7));
        assert_eq!(of("other.org"), (Duration::from_millis(500), 7), "external");
        options.settings.hosts.clear();
        let mut pace = Pace::new(&options, 7);
        let root = options.settings.roots[0].clone();
        let usual = (Duration::from_millis(100), 7);
        assert_eq!(pace.of(Address::of(&root).unwrap(), false), usual);
        let other = Url::parse("http://other.org/").unwrap();
        assert_eq!(pace.of(Address::of(&other).unwrap(), true), usual, "a root redirects there");
    }
}
