//! A parser of robots.txt, the robots exclusion protocol (RFC 9309).
//!
//! This module does no IO. The caller requests `/robots.txt` of each scheme, host
//! and port, follows redirects, and passes the last response to
//! [`Robots::of_response`], or calls [`Robots::unreachable`]. Then
//! [`Robots::allows`] decides about every URL of that origin.
//!
//! RFC 9309, section 2.3.1.2, asks for at least five redirects, to other hosts as well.
//! Code that does not leave the site for a robots.txt departs from it: a file that is
//! not requested forbids nothing.
//!
//! Where the RFC leaves room, or where sites use more than it defines, this parser
//! does as Google's documentation and its published parser do: it accepts a few
//! common misspellings of keys, a missing colon, and `Sitemap` lines. Three things
//! differ on purpose:
//!
//! * `Crawl-delay` is supported;
//! * a digit belongs to a name, so a group for `bot2` is not a group for `bot`;
//! * percent-encoding is compared as the RFC says, not as it is written.

mod directives;
mod pattern;
mod records;

use std::cmp::Reverse;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use url::{ParseError, Url};

use self::pattern::{Pattern, Target};
use self::records::{Key, Record, records};

pub use self::directives::header_forbids_following;
pub(crate) use self::directives::{directives_forbid_following, rel_forbids_following};

/// The maximum number of bytes of a robots.txt that are parsed: the minimum that
/// RFC 9309 section 2.5 requires. The line that crosses the limit is ignored, and so
/// are all lines after it.
pub const MAX_BYTES: usize = 500 * 1024;

/// The maximum number of sitemaps of one robots.txt; more are left out.
pub const MAX_SITEMAPS: usize = 256;

/// The maximum length of the URL of a sitemap in bytes, a limit of sitemaps.org. A
/// longer one is left out.
const MAX_SITEMAP_URL_LEN: usize = 2_048;

/// The maximum number of bytes of a URL that the wildcards of all rules together may
/// search for one decision. It takes some milliseconds. For a URL of 80 bytes it is
/// enough for the largest file; only a malicious file needs more.
const MAX_STEPS: usize = 4 << 20;

/// The rules of one origin for one robot. The rest of the file is not kept.
/// Serialized, they are without the sitemaps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Robots {
    /// The rules by precedence: the first one that matches decides.
    rules: Box<[Rule]>,
    crawl_delay: Option<Duration>,
    #[serde(skip)]
    sitemaps: Box<[Url]>,
    /// The references to sitemaps that are relative, a common mistake.
    #[serde(skip)]
    relative_sitemaps: Box<[String]>,
}

/// An `Allow` or `Disallow` line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Rule {
    pattern: Pattern,
    allows: bool,
}

impl Robots {
    /// Parses a robots.txt. The groups for `product_token` count, or those for `*`
    /// if there are none.
    ///
    /// Nothing is an error: lines that cannot be understood are skipped, as RFC 9309
    /// section 2.3.1.5 requires. Takes time linear in the size of the file, except
    /// for sorting its rules.
    pub fn parse(file: &[u8], product_token: &str) -> Self {
        let file = within_limit(file);
        let records = records(file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file));
        let is_us = |agent: &[u8]| is_named(agent, product_token);
        let has_our_group =
            records.clone().any(|line| line.key == Key::UserAgent && is_us(line.value));
        let applies = |agent| if has_our_group { is_us(agent) } else { is_wildcard(agent) };

        let (mut rules, mut crawl_delay, mut sitemaps) = (Vec::new(), None, Vec::new());
        let mut relative_sitemaps = Vec::new();
        // The first is true if the current group is for us, the second while only
        // user-agent lines of the group have been read.
        let (mut is_ours, mut in_group_head) = (false, false);
        for Record { key, value } in records {
            match key {
                Key::UserAgent => {
                    is_ours = applies(value) || (in_group_head && is_ours);
                    in_group_head = true;
                }
                Key::Allow | Key::Disallow => {
                    in_group_head = false;
                    if is_ours && let Some(pattern) = Pattern::new(value) {
                        rules.push(Rule { pattern, allows: key == Key::Allow });
                    }
                }
                // Lines that the RFC does not define do not end the head of a group
                // (section 2.2.4). Of two delays, the longer is the polite one.
                Key::CrawlDelay if is_ours => crawl_delay = crawl_delay.max(parse_delay(value)),
                Key::Sitemap if sitemaps.len() + relative_sitemaps.len() < MAX_SITEMAPS => {
                    match sitemap_url(value) {
                        Some(Ok(url)) => sitemaps.push(url),
                        Some(Err(relative)) => relative_sitemaps.push(relative.to_owned()),
                        None => {}
                    }
                }
                Key::CrawlDelay | Key::Sitemap => {}
            }
        }
        let relative_sitemaps = relative_sitemaps.into();
        let sitemaps = sitemaps.into();
        Self { rules: by_precedence(rules), crawl_delay, sitemaps, relative_sitemaps }
    }

    /// Returns the rules that follow from the last response to a request for
    /// `/robots.txt`, after redirects (RFC 9309 section 2.3.1).
    ///
    /// * 2xx: the rules in the `body`;
    /// * 4xx, and a redirect that was not followed: there are no rules, so everything
    ///   is allowed;
    /// * 5xx and any other status: nothing is allowed;
    /// * 429 (Too Many Requests): nothing is allowed either. The RFC would permit to
    ///   crawl, but a server that refuses a single small file should not be asked
    ///   for all the others. Google treats 429 like a 5xx as well.
    pub fn of_response(status: u16, body: &[u8], product_token: &str) -> Self {
        match status {
            200..=299 => Self::parse(body, product_token),
            429 => Self::unreachable(),
            300..=499 => Self::unrestricted(),
            _ => Self::unreachable(),
        }
    }

    /// Returns no rules: everything is allowed.
    pub fn unrestricted() -> Self {
        Self::default()
    }

    /// Returns the rules for a server that did not answer: nothing is allowed (RFC
    /// 9309 section 2.3.1.4).
    pub fn unreachable() -> Self {
        let rules = Pattern::new(b"/").map(|pattern| Rule { pattern, allows: false });
        Self { rules: rules.into_iter().collect(), ..Self::default() }
    }

    /// Returns about the memory that the rules and the sitemaps take, in bytes.
    pub fn memory(&self) -> usize {
        // Each text is allocated on its own.
        let sitemaps = self.sitemaps.iter().map(|url| size_of::<Url>() + url.as_str().len() + 16);
        let rules = self.rules.iter().map(|rule| size_of::<Rule>() + rule.pattern.memory());
        let relative = self.relative_sitemaps.iter().map(|url| size_of::<String>() + url.len());
        rules.chain(sitemaps).chain(relative).sum()
    }

    /// Returns true if there is any rule. Without a rule, every URL is allowed.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Returns true if `url` may be fetched. Only its path and query are compared,
    /// not its origin. `/robots.txt` is always allowed.
    ///
    /// The longest rule that matches decides, `Allow` before `Disallow` (RFC 9309
    /// section 2.2.2). The time is bounded for every file: after its wildcards have
    /// searched some megabytes, the result is false.
    pub fn allows(&self, url: &Url) -> bool {
        if url.path() == "/robots.txt" {
            return true;
        }
        let target = Target::new(url);
        let mut steps = MAX_STEPS;
        for rule in &self.rules {
            match rule.pattern.matches(&target, &mut steps) {
                Some(true) => return rule.allows,
                Some(false) => {}
                None => return false,
            }
        }
        true
    }

    /// Returns the delay between two requests that the site asks for (`Crawl-delay`,
    /// which no standard defines). It may be absurdly long: the caller has to limit
    /// it.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// Returns the sitemaps that the file names, at most [`MAX_SITEMAPS`]. They are
    /// for all robots, and they may be on other hosts.
    pub fn sitemaps(&self) -> &[Url] {
        &self.sitemaps
    }

    /// Returns the references to further sitemaps that are relative. The protocol does not
    /// allow them, but it is clear what they mean.
    pub fn relative_sitemaps(&self) -> &[String] {
        &self.relative_sitemaps
    }
}

/// Returns the product token of a `User-Agent` header: the name of a robot in
/// robots.txt, which ends before the version (RFC 9309 section 2.2.1). Digits are
/// accepted although the RFC has none, because the names of some robots contain
/// them. The token is empty if the header begins with another character; then only
/// the groups for `*` count.
pub fn product_token(user_agent: &str) -> &str {
    let end = user_agent.bytes().position(|byte| !is_token_byte(byte));
    &user_agent[..end.unwrap_or(user_agent.len())]
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Returns true if a user-agent line names the robot. A version, or more words, may
/// follow the name.
fn is_named(agent: &[u8], product_token: &str) -> bool {
    let end = agent.iter().position(|&byte| !is_token_byte(byte)).unwrap_or(agent.len());
    end > 0 && agent[..end].eq_ignore_ascii_case(product_token.as_bytes())
}

/// Returns true if a user-agent line is for all robots.
fn is_wildcard(agent: &[u8]) -> bool {
    matches!(agent, [b'*'] | [b'*', b' ' | b'\t', ..])
}

/// Returns the lines within the first [`MAX_BYTES`] of the file.
fn within_limit(file: &[u8]) -> &[u8] {
    // With one byte more: the limit may be exactly at the end of a line.
    let Some(beginning) = file.get(..=MAX_BYTES) else {
        return file;
    };
    let end = beginning.iter().rposition(|byte| matches!(byte, b'\r' | b'\n'));
    &file[..end.unwrap_or(0)]
}

/// Sorts the rules so that the first one that matches decides.
fn by_precedence(mut rules: Vec<Rule>) -> Box<[Rule]> {
    rules.sort_unstable_by(|a, b| {
        let key = |rule: &Rule| (Reverse(rule.pattern.octets()), Reverse(rule.allows));
        key(a).cmp(&key(b)).then_with(|| a.pattern.cmp(&b.pattern))
    });
    rules.dedup();
    rules.into()
}

/// Parses a number of seconds, which may have decimals. One that is too large counts
/// as the largest one.
fn parse_delay(value: &[u8]) -> Option<Duration> {
    let seconds: f64 = str::from_utf8(value).ok()?.parse().ok()?;
    let delay = Duration::try_from_secs_f64(seconds).ok();
    delay.or_else(|| (seconds > 0.0).then_some(Duration::MAX))
}

/// Parses the URL of a sitemap, which has to be absolute; a relative one is an error.
fn sitemap_url(value: &[u8]) -> Option<Result<Url, &str>> {
    let value = str::from_utf8(value).ok().filter(|value| value.len() <= MAX_SITEMAP_URL_LEN)?;
    match Url::parse(value) {
        Ok(url) => matches!(url.scheme(), "http" | "https").then_some(Ok(url)),
        Err(ParseError::RelativeUrlWithoutBase) if !value.is_empty() => Some(Err(value)),
        Err(_) => None,
    }
}
