//! The options that must be the same when a crawl is resumed.

use crawl_core::{HostOptions, Options, ScopeRule, TrapLimits};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Returns the options that decide which URLs are found, by the names of their
/// flags.
pub(super) fn of(options: &Options) -> Map<String, Value> {
    let roots: Vec<_> = options.roots.iter().map(|root| root.as_str()).collect();
    let include: Vec<_> = options.include.iter().map(|regex| regex.as_str()).collect();
    let exclude: Vec<_> = options.exclude.iter().map(|regex| regex.as_str()).collect();
    let select: Vec<_> = options.select.iter().map(|selection| selection.as_str()).collect();
    let max_pages_per_host = match options.max_pages_per_host {
        Some(Options::MAX_PAGES_PER_HOST) => Value::Null,
        Some(max) => json!(max),
        None => json!("none"),
    };
    // A limit that is as usual is not in a journal, as in those from before the flags.
    let (traps, usual) = (&options.traps, TrapLimits::default());
    let is_filter = |host: &&HostOptions| !host.check || !host.exclude.is_empty();
    let hosts = options.hosts.iter().filter(is_filter);
    let hosts: Vec<_> = hosts
        .map(|HostOptions { host, check, exclude, .. }| format!("{host:?} {check} {exclude:?}"))
        .collect();
    let settings: [(&str, Value); 19] = [
        ("URL", json!(roots)),
        ("--lenient", json!(options.scope == ScopeRule::Lenient)),
        ("--include", json!(include)),
        ("--exclude", json!(exclude)),
        ("--max-depth", json!(options.max_depth)),
        ("--max-redirect", json!(options.max_redirect)),
        ("--strip-query", json!(options.strip_query)),
        ("--external", json!(options.external)),
        ("--check", json!(options.check.names())),
        ("--sitemap", json!(options.sitemap)),
        ("--no-robots", json!(!options.robots)),
        ("--select", json!(select)),
        ("--max-pages-per-host", max_pages_per_host),
        ("--max-path-segments", unusual(traps.segments, usual.segments)),
        ("--max-repeats", unusual(traps.repetitions, usual.repetitions)),
        ("--max-pages-per-pattern", unusual(traps.variants, usual.variants)),
        // Null while it is unused: older journals do not have it.
        ("hosts in crawl.toml", unusual(hosts, Vec::new())),
        ("--follow-root", json!(options.follow_root.then_some(true))),
        ("--deny-private", json!(options.deny_private.then_some(true))),
    ];
    settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns the value of an option; `null` if it has its default.
fn unusual<T: Serialize + PartialEq>(value: T, default: T) -> Value {
    if value == default { Value::Null } else { json!(value) }
}

/// Returns a readable list of the options that have changed; `None` if none has.
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
    (!list.is_empty()).then(|| list.join("; "))
}
