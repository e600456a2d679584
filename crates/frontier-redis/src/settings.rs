//! The settings of a crawl in Redis, and those that a worker is given.

use std::io;

use crawl_core::{Options, Settings};
use serde_json::{Map, Value};

/// Returns the settings of `given` that contradict those of the crawl, as a readable
/// list; `None` if there are none. A setting that has its default was not given.
pub(crate) fn contradictions(crawl: &Settings, given: &Settings) -> io::Result<Option<String>> {
    let (crawl, given) = (by_name(crawl)?, by_name(given)?);
    let defaults = by_name(&Settings::new(Vec::new()))?;
    let contradicts = |name: &str, value: &Value| {
        defaults.get(name) != Some(value) && crawl.get(name) != Some(value)
    };
    let list: Vec<_> = given
        .iter()
        .filter(|(name, value)| contradicts(name, value))
        .map(|(name, value)| match &**name {
            // It may be a secret.
            "--header" => format!("{name} is different"),
            _ => format!(
                "{name} is {} there and {value} here",
                crawl.get(name).unwrap_or(&Value::Null)
            ),
        })
        .collect();
    Ok(if list.is_empty() { None } else { Some(list.join("; ")) })
}

fn by_name(settings: &Settings) -> io::Result<Map<String, Value>> {
    Ok(serde_json::from_value(serde_json::to_value(settings)?)?)
}

/// Returns what a crawl on many machines does not support of these options: a flag, or the
/// name of a setting.
///
/// Neither pattern has `..`: whoever adds an option decides what each worker does with it.
pub(crate) fn unsupported(options: &Options) -> Option<&'static str> {
    let Options {
        settings,
        // Each worker has these for itself.
        link_contexts: _,
        max_tasks: _,
        seed: _,
        max_pages: _,
        max_time: _,
        keep_redirects: _,
        cookies: _,
        cookie_jar: _,
        ca_certificates: _,
        insecure: _,
        proxies: _,
    } = options;
    let Settings {
        max_depth,
        one_page,
        sitemap,
        follow_root,
        external_rate,
        hosts,
        // All workers have these of the crawl.
        roots: _,
        scope: _,
        include: _,
        exclude: _,
        check: _,
        external: _,
        strip_query: _,
        traps: _,
        max_pages_per_host: _,
        max_redirect: _,
        robots: _,
        deny_private: _,
        select: _,
        accept: _,
        max_tries: _,
        max_wait: _,
        rate_limit: _,
        delay: _,
        connect_timeout: _,
        read_timeout: _,
        timeout: _,
        max_body_size: _,
        user_agent: _,
        headers: _,
    } = settings;
    if *one_page {
        Some("--one-page")
    } else if max_depth.is_some() {
        Some("--max-depth")
    } else if *sitemap {
        Some("--sitemap")
    } else if *follow_root {
        Some("--follow-root")
    } else if external_rate.is_some() {
        Some("--external-rate")
    } else if !hosts.is_empty() {
        Some("a setting for a host")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crawl_core::{HostOptions, HostPattern};

    use super::*;

    #[test]
    fn what_one_process_alone_can_follow_is_not_supported() {
        let mut options = Options::new(Vec::new());
        assert_eq!(unsupported(&options), None);
        options.settings.hosts = vec![HostOptions::new(HostPattern::parse("a.test").unwrap())];
        assert_eq!(unsupported(&options), Some("a setting for a host"));
        options.settings.external_rate = Some(1);
        assert_eq!(unsupported(&options), Some("--external-rate"));
    }

    #[test]
    fn what_is_said_must_not_contradict() {
        let mut crawl = Settings::new(vec!["http://a.test/".parse().unwrap()]);
        crawl.delay = Duration::from_secs(1);
        let list = |given: &Settings| contradictions(&crawl, given).unwrap();
        assert_eq!(list(&crawl), None);
        assert_eq!(list(&Settings::new(Vec::new())), None);
        let mut given = Settings::new(Vec::new());
        given.delay = Duration::from_secs(2);
        assert_eq!(list(&given).unwrap(), "--delay is 1.0 there and 2.0 here");
    }
}
