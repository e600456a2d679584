//! The settings that must be the same when a crawl is resumed.

use std::io;
use std::time::Duration;

use crawl_core::{HostOptions, Settings};
use serde_json::{Map, Value};

/// Returns the settings that a journal keeps, by their names: those that decide which URLs
/// are found. The others may differ when the crawl is resumed, so they have the same value
/// in each journal. Headers are among them, which may be secrets and do not belong in a file.
pub(super) fn of(settings: &Settings) -> io::Result<Map<String, Value>> {
    // No `..` here: whoever adds a setting decides whether it may differ.
    let kept = Settings {
        roots: settings.roots.clone(),
        scope: settings.scope,
        include: settings.include.clone(),
        exclude: settings.exclude.clone(),
        check: settings.check,
        external: settings.external,
        sitemap: settings.sitemap,
        follow_root: settings.follow_root,
        max_depth: settings.max_depth,
        one_page: settings.one_page,
        strip_query: settings.strip_query.clone(),
        traps: settings.traps.clone(),
        max_pages_per_host: settings.max_pages_per_host,
        max_redirect: settings.max_redirect,
        robots: settings.robots,
        deny_private: settings.deny_private,
        select: settings.select.clone(),
        hosts: settings.hosts.iter().filter(is_filter).map(filter_of).collect(),
        accept: Vec::new(),
        max_tries: 0,
        max_wait: Duration::ZERO,
        rate_limit: None,
        delay: Duration::ZERO,
        external_rate: None,
        connect_timeout: Duration::ZERO,
        read_timeout: Duration::ZERO,
        timeout: Duration::ZERO,
        max_body_size: 0,
        user_agent: String::new(),
        headers: Vec::new(),
    };
    Ok(serde_json::from_value(serde_json::to_value(kept)?)?)
}

/// Returns true if URLs of the host are not found because of its options.
fn is_filter(host: &&HostOptions) -> bool {
    !host.check || !host.exclude.is_empty()
}

/// Returns the options of a host with nothing but what decides which URLs are found.
fn filter_of(host: &HostOptions) -> HostOptions {
    HostOptions {
        host: host.host.clone(),
        exclude: host.exclude.clone(),
        check: host.check,
        delay: None,
        rate_limit: None,
        max_tasks: None,
        headers: Vec::new(),
        connect_timeout: None,
        read_timeout: None,
        timeout: None,
        accept: Vec::new(),
    }
}

/// Returns a readable list of the settings that have changed; `None` if none has.
pub(super) fn differences(old: &Map<String, Value>, new: &Map<String, Value>) -> Option<String> {
    let of = |settings: &Map<String, Value>, name: &str| match settings.get(name) {
        None | Some(Value::Null) => "none".to_owned(),
        Some(value) => value.to_string(),
    };
    let since = new.keys().filter(|name| !old.contains_key(*name));
    let list: Vec<_> = old
        .keys()
        .chain(since)
        .filter(|name| of(old, name) != of(new, name))
        .map(|name| format!("{name} was {} and is {}", of(old, name), of(new, name)))
        .collect();
    if list.is_empty() { None } else { Some(list.join("; ")) }
}
