//! What a site asks robots not to visit: its robots.txt (RFC 9309).
//!
//! Nothing here fetches anything. The caller asks for `/robots.txt` of each
//! scheme, host and port, follows at least five redirects, and hands over what
//! came: [`Robots::of_response`] or [`Robots::unreachable`]. Then
//! [`Robots::allows`] answers for every URL of that origin.
//!
//! Where the RFC leaves room, or site owners are used to more, this does what
//! Google documents and its published parser does: a few common misspellings
//! of keys, a missing colon, `Sitemap` lines. Three things are different on
//! purpose. `Crawl-delay` is understood. A name such as `bot2` is read with its
//! digit, and so means nobody but `bot2`. And percent-encoding is compared as
//! the RFC says, not as it is written.

mod directives;
mod pattern;
mod records;

use std::cmp::Reverse;
use std::time::Duration;

use url::Url;

use self::pattern::{Pattern, Target};
use self::records::{Key, Record, records};

pub(crate) use self::directives::{forbid_following, forbids_following, header_forbids_following};

/// How many bytes of a robots.txt are read (RFC 9309 section 2.5 asks for as
/// many at least). What lies beyond does not count, nor does the line that
/// crosses the limit.
pub const MOST_BYTES: usize = 500 * 1024;

/// How many sitemaps one robots.txt may name; more are left out.
pub const MOST_SITEMAPS: usize = 256;

/// A sitemap whose URL has more bytes is left out: sitemaps.org has it that
/// URLs are shorter.
const LONGEST_SITEMAP: usize = 2_048;

/// How many bytes of a URL the wildcards of all rules together may pass over
/// for one answer: some milliseconds. A URL of 80 bytes gets through the
/// largest file there can be; whoever needs more than this is up to no good.
const MOST_STEPS: usize = 4 << 20;

/// The rules of one origin for one robot. Of the file, only these are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Robots {
    /// Those that win come first.
    rules: Box<[Rule]>,
    crawl_delay: Option<Duration>,
    sitemaps: Box<[Url]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    pattern: Pattern,
    allows: bool,
}

impl Robots {
    /// Reads a robots.txt, of which the groups for `product_token` count, or
    /// those for `*` when there are none.
    ///
    /// Nothing is an error: lines that cannot be understood are passed over, as
    /// RFC 9309 section 2.3.1.5 wants it. Takes time linear in the size of the
    /// file, but for sorting its rules.
    pub fn parse(file: &[u8], product_token: &str) -> Self {
        let file = whole_lines(file);
        let records = records(file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file));
        let names_us = |agent: &[u8]| is_named(agent, product_token);
        let has_our_name =
            records.clone().any(|line| line.key == Key::UserAgent && names_us(line.value));
        let applies = |agent| if has_our_name { names_us(agent) } else { is_anybody(agent) };

        let (mut rules, mut crawl_delay, mut sitemaps) = (Vec::new(), None, Vec::new());
        // Whether the present group is for us, and its rules are still to come.
        let (mut is_ours, mut at_its_head) = (false, false);
        for Record { key, value } in records {
            match key {
                Key::UserAgent => {
                    is_ours = applies(value) || (at_its_head && is_ours);
                    at_its_head = true;
                }
                Key::Allow | Key::Disallow => {
                    at_its_head = false;
                    if is_ours && let Some(pattern) = Pattern::new(value) {
                        rules.push(Rule { pattern, allows: key == Key::Allow });
                    }
                }
                // What is not in the RFC does not end the head of a group
                // (section 2.2.4). Of two delays the longer is the polite one.
                Key::CrawlDelay if is_ours => crawl_delay = crawl_delay.max(delay(value)),
                Key::Sitemap if sitemaps.len() < MOST_SITEMAPS => sitemaps.extend(sitemap(value)),
                Key::CrawlDelay | Key::Sitemap => {}
            }
        }
        Self { rules: in_order(rules), crawl_delay, sitemaps: sitemaps.into() }
    }

    /// What the last answer to a request for `/robots.txt` means (RFC 9309
    /// section 2.3.1), redirects having been followed.
    ///
    /// * 2xx: the rules in its `body`;
    /// * 4xx: there are no rules, so everything is allowed. So it is with a
    ///   redirect that was one too many, or led nowhere;
    /// * 5xx and whatever else: nothing is allowed;
    /// * 429: nothing is allowed either. The RFC would permit to go on, but a
    ///   server that has no time for a single small file should not be asked
    ///   for all the others. Google takes it for a 5xx, too.
    pub fn of_response(status: u16, body: &[u8], product_token: &str) -> Self {
        match status {
            200..=299 => Self::parse(body, product_token),
            429 => Self::unreachable(),
            300..=499 => Self::unrestricted(),
            _ => Self::unreachable(),
        }
    }

    /// No rules: everything is allowed.
    pub fn unrestricted() -> Self {
        Self::default()
    }

    /// The server did not answer: nothing is allowed (RFC 9309 section
    /// 2.3.1.4).
    pub fn unreachable() -> Self {
        let rules = Pattern::new(b"/").map(|pattern| Rule { pattern, allows: false });
        Self { rules: rules.into_iter().collect(), ..Self::default() }
    }

    /// Whether there is any rule at all: if not, nobody needs to ask.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Whether `url` may be visited. The origin is not looked at; path and query
    /// are. `/robots.txt` always may.
    ///
    /// The longest rule that matches decides, `Allow` before `Disallow` (RFC
    /// 9309 section 2.2.2). The time is bounded whatever the file holds: once
    /// its wildcards have been compared with some megabytes, the answer is no.
    pub fn allows(&self, url: &Url) -> bool {
        if url.path() == "/robots.txt" {
            return true;
        }
        let target = Target::new(url);
        let mut steps = MOST_STEPS;
        for rule in &self.rules {
            match rule.pattern.matches(&target, &mut steps) {
                Some(true) => return rule.allows,
                Some(false) => {}
                None => return false,
            }
        }
        true
    }

    /// How long to wait between two requests, as the site would have it; nobody
    /// has standardised it. It may be absurdly long: the caller sets a limit.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// The sitemaps that the file names, for whichever robot; at most
    /// [`MOST_SITEMAPS`]. They may lie on other hosts.
    pub fn sitemaps(&self) -> &[Url] {
        &self.sitemaps
    }
}

/// The name by which a robots.txt calls a robot, out of its `User-Agent`
/// header: what stands before the version (RFC 9309 section 2.2.1). Digits are
/// let in, against the letter of the RFC, because robots have them in their
/// names. Empty if the header begins with something else; then only the groups
/// for everybody count.
pub fn product_token(user_agent: &str) -> &str {
    let end = user_agent.bytes().position(|byte| !is_token_byte(byte));
    &user_agent[..end.unwrap_or(user_agent.len())]
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Whether a user-agent line names the robot. A version, or more words, may
/// follow the name.
fn is_named(agent: &[u8], product_token: &str) -> bool {
    let end = agent.iter().position(|&byte| !is_token_byte(byte)).unwrap_or(agent.len());
    end > 0 && agent[..end].eq_ignore_ascii_case(product_token.as_bytes())
}

fn is_anybody(agent: &[u8]) -> bool {
    matches!(agent, [b'*'] | [b'*', b' ' | b'\t', ..])
}

/// The file as far as it is read.
fn whole_lines(file: &[u8]) -> &[u8] {
    // The limit may fall just behind a line.
    let Some(beginning) = file.get(..=MOST_BYTES) else {
        return file;
    };
    let end = beginning.iter().rposition(|byte| matches!(byte, b'\r' | b'\n'));
    &file[..end.unwrap_or(0)]
}

/// Sorted so that the first that matches is the one that decides.
fn in_order(mut rules: Vec<Rule>) -> Box<[Rule]> {
    rules.sort_unstable_by(|a, b| {
        let key = |rule: &Rule| (Reverse(rule.pattern.octets()), Reverse(rule.allows));
        key(a).cmp(&key(b)).then_with(|| a.pattern.cmp(&b.pattern))
    });
    rules.dedup();
    rules.into()
}

/// Seconds, which may have decimals.
fn delay(value: &[u8]) -> Option<Duration> {
    Duration::try_from_secs_f64(str::from_utf8(value).ok()?.parse().ok()?).ok()
}

fn sitemap(value: &[u8]) -> Option<Url> {
    let value = str::from_utf8(value).ok().filter(|value| value.len() <= LONGEST_SITEMAP)?;
    Url::parse(value).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}
