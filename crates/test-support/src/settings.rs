//! Settings of a crawl that all differ from the defaults.

use std::time::Duration;

use crawl_core::{Check, HostOptions, HostPattern, ScopeRule, Settings, TrapLimits};
use regex::Regex;
use serde_json::{Map, Value};
use web::http::Header;
use web::select::Selection;

/// Returns settings whose every field differs from its default. There is no `..`, so that a
/// new field goes through the tests of the flags, of the file, of the journal and of Redis.
pub fn changed() -> Settings {
    Settings {
        roots: ["http://a.test/".parse().unwrap()].into(),
        scope: ScopeRule::Lenient,
        include: vec![Regex::new("in").unwrap()],
        exclude: vec![Regex::new("ex$").unwrap()],
        check: Check::ALL,
        external: true,
        sitemap: true,
        follow_root: true,
        max_depth: Some(1),
        one_page: true,
        strip_query: vec!["sid".to_owned()],
        traps: TrapLimits {
            url_bytes: 2,
            segments: 3,
            repetitions: 4,
            variants: 5,
            below: 6,
            near: 7,
            equal_pages: 8,
        },
        max_pages_per_host: Some(9),
        max_redirect: 11,
        robots: false,
        deny_private: true,
        select: vec![Selection::parse("title=h1").unwrap()],
        hosts: vec![HostOptions {
            host: HostPattern::parse("https://*.b.test:8443").unwrap(),
            delay: Some(Duration::from_secs(12)),
            rate_limit: Some(13),
            max_tasks: Some(14),
            headers: vec![Header::parse("X-Host: s3cret").unwrap()],
            connect_timeout: Some(Duration::from_secs(15)),
            read_timeout: Some(Duration::from_secs(16)),
            timeout: Some(Duration::from_secs(17)),
            accept: vec![410..=410],
            exclude: vec![Regex::new("^/no").unwrap()],
            check: false,
        }],
        accept: vec![403..=403, 500..=503],
        max_tries: 18,
        max_wait: Duration::from_secs(19),
        rate_limit: Some(20),
        delay: Duration::from_millis(1_500),
        external_rate: Some(21),
        connect_timeout: Duration::from_secs(22),
        read_timeout: Duration::from_secs(23),
        timeout: Duration::from_secs(24),
        max_body_size: 25,
        user_agent: "me/1".to_owned(),
        headers: vec![Header::parse("X-Token: s3cret").unwrap()],
    }
}

/// Returns the values of settings by their names.
pub fn by_name(settings: &Settings) -> Map<String, Value> {
    serde_json::to_value(settings).unwrap().as_object().unwrap().clone()
}

/// Returns the default settings without roots, with the field of this name taken from
/// [`changed`].
pub fn with_one_changed(name: &str) -> Settings {
    let mut values = by_name(&Settings::new(Vec::new()));
    values.insert(name.to_owned(), by_name(&changed())[name].clone());
    serde_json::from_value(Value::Object(values)).unwrap()
}
