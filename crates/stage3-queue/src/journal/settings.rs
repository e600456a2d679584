//! What must be the same when a crawl goes on.

use crawl_core::{Check, Options, ScopeRule};
use serde_json::{Map, Value, json};

/// The options that decide which URLs are found, by the names under which
/// people give them.
pub(super) fn of(options: &Options) -> Map<String, Value> {
    let roots: Vec<_> = options.roots.iter().map(|root| root.as_str()).collect();
    let include: Vec<_> = options.include.iter().map(|regex| regex.as_str()).collect();
    let exclude: Vec<_> = options.exclude.iter().map(|regex| regex.as_str()).collect();
    let Check { images, scripts, styles, fragments } = options.check;
    let check =
        [("images", images), ("scripts", scripts), ("styles", styles), ("fragments", fragments)];
    let check: Vec<_> = check.iter().filter(|(_, is_wanted)| *is_wanted).map(|(n, _)| n).collect();
    let select: Vec<_> = options.select.iter().map(|selection| selection.as_str()).collect();
    let settings: [(&str, Value); 12] = [
        ("URL", json!(roots)),
        ("--lenient", json!(options.scope == ScopeRule::Lenient)),
        ("--include", json!(include)),
        ("--exclude", json!(exclude)),
        ("--max-depth", json!(options.max_depth)),
        ("--max-redirect", json!(options.max_redirect)),
        ("--strip-query", json!(options.strip_query)),
        ("--external", json!(options.external)),
        ("--check", json!(check)),
        ("--sitemap", json!(options.sitemap)),
        ("--no-robots", json!(!options.robots)),
        ("--select", json!(select)),
    ];
    settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// What is different now, as a list for people; `None` if nothing is.
pub(super) fn differences(then: &Map<String, Value>, now: &Map<String, Value>) -> Option<String> {
    let of = |settings: &Map<String, Value>, name: &str| match settings.get(name) {
        None | Some(Value::Null) => "none".to_owned(),
        Some(value) => value.to_string(),
    };
    let since = now.keys().filter(|name| !then.contains_key(*name));
    let list: Vec<_> = then
        .keys()
        .chain(since)
        .filter(|name| of(then, name) != of(now, name))
        .map(|name| format!("{name} was {} and is {}", of(then, name), of(now, name)))
        .collect();
    (!list.is_empty()).then(|| list.join("; "))
}
