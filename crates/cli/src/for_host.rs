//! Settings for single hosts, as words of the command line: `HOST KEY=VALUE`.

use crawl_core::{HostOptions, HostPattern};
use regex::Regex;

use crate::parsers;

/// One setting for the hosts of a pattern.
#[derive(Clone, Debug)]
pub(crate) struct ForHost {
    host: HostPattern,
    setting: HostOptions,
}

impl ForHost {
    /// Parses a setting. Its keys and values are those of flags.
    ///
    /// # Errors
    /// When `text` is none. The message says what is wrong, without the value
    /// unless that is a pattern.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (host, setting) = text.split_once(' ').unwrap_or((text, ""));
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        let host = HostPattern::parse(host)?;
        let mut set = HostOptions::new(host.clone());
        match key {
            "accept" => {
                let words = value.split(',').map(parsers::statuses);
                set.accept = words.collect::<Result<_, _>>()?;
            }
            "check" => set.check = value.parse().map_err(|_| "write true or false")?,
            "connect-timeout" => set.connect_timeout = Some(parsers::duration(value)?),
            "delay" => set.delay = Some(parsers::duration(value)?),
            "exclude" => {
                set.exclude = vec![Regex::new(value).map_err(|error| error.to_string())?];
            }
            "header" => {
                set.headers = vec![parsers::header(value).map_err(|error| error.to_string())?];
            }
            "max-tasks" => set.max_tasks = Some(parsers::max_tasks(value)?),
            "rate-limit" => set.rate_limit = Some(parsers::at_least_one(value)?),
            "read-timeout" => set.read_timeout = Some(parsers::duration(value)?),
            "timeout" => set.timeout = Some(parsers::duration(value)?),
            _ => {
                return Err(format!(
                    "a host has no setting '{key}', only accept, check, connect-timeout, delay, \
                     exclude, header, max-tasks, rate-limit, read-timeout and timeout"
                ));
            }
        }
        Ok(Self { host, setting: set })
    }
}

/// Returns the options of each host, from its settings.
pub(crate) fn host_options(settings: &[ForHost]) -> Vec<HostOptions> {
    let mut hosts: Vec<HostOptions> = Vec::new();
    for ForHost { host, setting } in settings {
        let known = hosts.iter_mut().find(|options| options.host == *host);
        let HostOptions {
            host: _,
            delay,
            rate_limit,
            max_tasks,
            headers,
            connect_timeout,
            read_timeout,
            timeout,
            accept,
            exclude,
            check,
        } = setting.clone();
        match known {
            None => hosts.push(setting.clone()),
            Some(options) => {
                options.delay = delay.or(options.delay);
                options.rate_limit = rate_limit.or(options.rate_limit);
                options.max_tasks = max_tasks.or(options.max_tasks);
                options.connect_timeout = connect_timeout.or(options.connect_timeout);
                options.read_timeout = read_timeout.or(options.read_timeout);
                options.timeout = timeout.or(options.timeout);
                options.headers.extend(headers);
                options.accept.extend(accept);
                options.exclude.extend(exclude);
                options.check &= check;
            }
        }
    }
    hosts
}
