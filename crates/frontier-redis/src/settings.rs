//! The settings of a crawl: the options that all its workers share, as they are kept in
//! Redis.

use std::io;
use std::time::Duration;

use crawl_core::{Check, Options, ScopeRule};
use regex::Regex;
use serde_json::{Map, Value, json};
use url::Url;
use web::http::Header;
use web::select::Selection;

/// Returns the settings in these options, by the names of their flags.
pub(crate) fn of(options: &Options) -> Map<String, Value> {
    let texts = |texts: &mut dyn Iterator<Item = String>| json!(texts.collect::<Vec<_>>());
    let settings: [(&str, Value); 26] = [
        ("URL", texts(&mut options.roots.iter().map(Url::to_string))),
        ("--lenient", json!(options.scope == ScopeRule::Lenient)),
        ("--include", texts(&mut options.include.iter().map(Regex::to_string))),
        ("--exclude", texts(&mut options.exclude.iter().map(Regex::to_string))),
        ("--check", json!(options.check.names())),
        ("--strip-query", json!(options.strip_query)),
        ("--external", json!(options.external)),
        ("--max-pages-per-host", json!(options.max_pages_per_host)),
        ("--max-path-segments", json!(options.traps.segments)),
        ("--max-repeats", json!(options.traps.repetitions)),
        ("--max-pages-per-pattern", json!(options.traps.variants)),
        ("--max-redirect", json!(options.max_redirect)),
        ("--max-tries", json!(options.max_tries)),
        ("--max-wait", millis(options.max_wait)),
        ("--rate-limit", json!(options.rate_limit)),
        ("--delay", millis(options.delay)),
        ("--no-robots", json!(!options.robots)),
        ("--connect-timeout", millis(options.connect_timeout)),
        ("--read-timeout", millis(options.read_timeout)),
        ("--timeout", millis(options.timeout)),
        ("--max-body-size", json!(options.max_body_size)),
        ("--user-agent", json!(options.user_agent)),
        ("--deny-private", json!(options.deny_private)),
        ("--header", texts(&mut options.headers.iter().map(Header::line))),
        (
            "--accept",
            json!(options.accept.iter().map(|r| (r.start(), r.end())).collect::<Vec<_>>()),
        ),
        ("--select", texts(&mut options.select.iter().map(|s| s.as_str().to_owned()))),
    ];
    settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn millis(duration: Duration) -> Value {
    json!(duration.as_millis() as u64)
}

/// Sets the options to these settings.
///
/// # Errors
/// When a setting is not as [`of`] writes it.
pub(crate) fn apply(settings: &Map<String, Value>, options: &mut Options) -> io::Result<()> {
    let get = |name: &str| settings.get(name).cloned().unwrap_or_default();
    let texts = |name: &str| -> io::Result<Vec<String>> { Ok(serde_json::from_value(get(name))?) };
    let duration = |name: &str| -> io::Result<Duration> {
        Ok(Duration::from_millis(serde_json::from_value(get(name))?))
    };
    let regexes = |name: &str| -> io::Result<Vec<Regex>> {
        texts(name)?.iter().map(|text| Regex::new(text).map_err(io::Error::other)).collect()
    };
    let roots = texts("URL")?;
    options.roots = roots.iter().flat_map(|root| Url::parse(root)).collect();
    let is_lenient = serde_json::from_value(get("--lenient"))?;
    options.scope = if is_lenient { ScopeRule::Lenient } else { ScopeRule::Strict };
    options.include = regexes("--include")?;
    options.exclude = regexes("--exclude")?;
    options.check = Check::default();
    for name in texts("--check")? {
        let kind = options.check.kind(&name);
        *kind.ok_or_else(|| io::Error::other(format!("unknown kind {name}")))? = true;
    }
    options.strip_query = texts("--strip-query")?;
    options.external = serde_json::from_value(get("--external"))?;
    options.max_pages_per_host = serde_json::from_value(get("--max-pages-per-host"))?;
    options.traps.segments = serde_json::from_value(get("--max-path-segments"))?;
    options.traps.repetitions = serde_json::from_value(get("--max-repeats"))?;
    options.traps.variants = serde_json::from_value(get("--max-pages-per-pattern"))?;
    options.max_redirect = serde_json::from_value(get("--max-redirect"))?;
    options.max_tries = serde_json::from_value(get("--max-tries"))?;
    options.max_wait = duration("--max-wait")?;
    options.rate_limit = serde_json::from_value(get("--rate-limit"))?;
    options.delay = duration("--delay")?;
    options.robots = !serde_json::from_value::<bool>(get("--no-robots"))?;
    options.connect_timeout = duration("--connect-timeout")?;
    options.read_timeout = duration("--read-timeout")?;
    options.timeout = duration("--timeout")?;
    options.max_body_size = serde_json::from_value(get("--max-body-size"))?;
    options.user_agent = serde_json::from_value(get("--user-agent"))?;
    let headers = texts("--header")?.into_iter().map(|line| Header::parse(&line));
    options.headers = headers.collect::<Result<_, _>>().map_err(io::Error::other)?;
    options.deny_private = serde_json::from_value(get("--deny-private"))?;
    let accept: Vec<(u16, u16)> = serde_json::from_value(get("--accept"))?;
    options.accept = accept.into_iter().map(|(start, end)| start..=end).collect();
    let select = texts("--select")?.into_iter().map(|text| Selection::parse(&text));
    options.select = select.collect::<Result<_, _>>().map_err(io::Error::other)?;
    Ok(())
}

/// Returns the settings of `given` that contradict those of the crawl, as a readable
/// list; `None` if there are none. What has its default value was not said.
pub(crate) fn contradictions(crawl: &Map<String, Value>, given: &Options) -> Option<String> {
    let defaults = of(&Options::new(Vec::new()));
    let contradicts = |name: &str, value: &Value| {
        defaults.get(name) != Some(value) && crawl.get(name) != Some(value)
    };
    let list: Vec<_> = of(given)
        .iter()
        .filter(|(name, value)| contradicts(name, value))
        .map(|(name, value)| match &**name {
            // It may be a secret.
            "--header" => format!("{name} is another one"),
            _ => format!(
                "{name} is {} there and {value} here",
                crawl.get(name).unwrap_or(&Value::Null)
            ),
        })
        .collect();
    (!list.is_empty()).then(|| list.join("; "))
}

/// Returns what a crawl on many machines does not support of these options: a flag, or the
/// name of a setting.
pub(crate) fn unsupported(options: &Options) -> Option<&'static str> {
    match options {
        Options { max_depth: Some(_), .. } => Some("--max-depth"),
        Options { sitemap: true, .. } => Some("--sitemap"),
        Options { follow_root: true, .. } => Some("--follow-root"),
        Options { external_rate: Some(_), .. } => Some("--external-rate"),
        Options { hosts, .. } => (!hosts.is_empty()).then_some("a setting for a host"),
    }
}

#[cfg(test)]
mod tests {
    use crawl_core::{HostOptions, HostPattern};

    use super::*;

    #[test]
    fn settings_come_back_as_they_were() {
        let mut options = Options::new(vec!["http://a.test/".parse().unwrap()]);
        options.scope = ScopeRule::Lenient;
        options.exclude = vec![Regex::new("x$").unwrap()];
        options.check.styles = true;
        options.max_pages_per_host = None;
        options.traps.segments = 3;
        options.traps.repetitions = 4;
        options.traps.variants = 5;
        options.rate_limit = Some(3);
        options.delay = Duration::from_millis(150);
        options.robots = false;
        options.headers = vec![Header::parse("X-Secret: y z").unwrap()];
        options.accept = vec![403..=403, 500..=503];
        options.user_agent = "me/1".to_owned();
        let mut applied = Options::new(Vec::new());
        apply(&of(&options), &mut applied).unwrap();
        assert_eq!(format!("{applied:?}"), format!("{options:?}"));
        assert_eq!(of(&applied), of(&options));
    }

    #[test]
    fn what_one_process_alone_can_follow_is_not_supported() {
        let mut options = Options::new(Vec::new());
        assert_eq!(unsupported(&options), None);
        options.hosts = vec![HostOptions::new(HostPattern::parse("a.test").unwrap())];
        assert_eq!(unsupported(&options), Some("a setting for a host"));
        options.external_rate = Some(1);
        assert_eq!(unsupported(&options), Some("--external-rate"));
    }

    #[test]
    fn what_is_said_must_not_contradict() {
        let mut crawl = Options::new(vec!["http://a.test/".parse().unwrap()]);
        crawl.delay = Duration::from_secs(1);
        let settings = of(&crawl);
        assert_eq!(contradictions(&settings, &crawl), None);
        assert_eq!(contradictions(&settings, &Options::new(Vec::new())), None);
        let mut given = Options::new(Vec::new());
        given.delay = Duration::from_secs(2);
        let list = contradictions(&settings, &given).unwrap();
        assert_eq!(list, "--delay is 1000 there and 2000 here");
    }
}
