//! The door.

use std::collections::HashSet;

use crawl_core::{Address, Admission, Decision, ErrorClass, Job, Options, TrapLimits, Via};
use url::Url;

use crate::{assert_documented, has_file_url};

/// Small enough to be crossed by small inputs.
const LIMITS: TrapLimits =
    TrapLimits { url_bytes: 100, segments: 6, variants: 10, below: 10, near: 3 };
const MAX_DEPTH: u32 = 5;
const MAX_REDIRECT: u32 = 2;

/// Asks the door about URLs, each on a line: `/` and a URL is a root, `-` a link
/// and `>` a redirect, both of the page that the next character names. Each URL
/// is decided upon once, as it was normalised, and counted.
pub fn admission(input: &[u8]) {
    if has_file_url(input) {
        return;
    }
    let Ok(input) = str::from_utf8(input) else { return };
    let base = Url::parse("http://site.test/").ok();
    let mut options = Options::new(base.iter().cloned().collect());
    options.max_depth = Some(MAX_DEPTH);
    options.max_redirect = MAX_REDIRECT;
    options.traps = LIMITS;
    options.strip_query = vec!["s".into()];
    let mut door = Admission::new(&options);
    let mut jobs: Vec<Job> = Vec::new();
    let mut decided = HashSet::new();
    for line in input.lines() {
        let Some((way, from, link)) = way(line, &jobs) else { continue };
        let Ok(url) = Url::options().base_url(base.as_ref()).parse(link) else { continue };
        let Ok(address) = Address::of(&url) else { continue };
        let via = match (way, &from) {
            ('-', Some(from)) => Via::Link(from),
            ('>', Some(from)) => Via::Redirect(from),
            _ => Via::Root,
        };
        match door.admit(address, via) {
            Decision::Admitted(job) => {
                assert!(decided.insert(job.url.to_string()), "twice: {}", job.url);
                assert!(job.depth <= MAX_DEPTH && job.redirects_left <= MAX_REDIRECT);
                assert!(job.url.len() <= LIMITS.url_bytes);
                assert_normal(&mut door, &job);
                jobs.push(job);
            }
            Decision::Refused { url, error, .. } => {
                assert!(url.len() <= LIMITS.url_bytes + 1);
                assert!(decided.insert(url.to_string()), "twice: {url}");
                assert_documented(&error, &[ErrorClass::Trap]);
            }
            Decision::ChainTooLong => {
                assert_eq!(from.map(|from| from.redirects_left), Some(0));
            }
            Decision::Known | Decision::Repeated | Decision::TooDeep | Decision::Outside => {}
        }
    }
    assert_eq!(door.seen(), decided.len());
    for url in &decided {
        assert!(door.referrers(url).0.len() <= Admission::MOST_REFERRERS);
        if let Some(referrer) = door.first_referrer(url) {
            assert!(jobs.iter().any(|job| *job.url == *referrer), "nobody asked for {referrer}");
        }
    }
}

/// How a URL was found, on which page, and the URL.
fn way<'a>(line: &'a str, jobs: &[Job]) -> Option<(char, Option<Job>, &'a str)> {
    let mut characters = line.chars();
    let way = characters.next()?;
    if way == '/' {
        return Some((way, None, characters.as_str()));
    }
    let number = characters.next()? as usize;
    let from = jobs.get(number.checked_rem(jobs.len())?)?;
    Some((way, Some(from.clone()), characters.as_str()))
}

/// What was let in is normal: written out and read again, it is known.
fn assert_normal(door: &mut Admission, job: &Job) {
    let again = Url::parse(&job.url);
    let again = again.as_ref().map(|url| {
        assert_eq!(url.as_str(), &*job.url);
        Address::of(url).map(|address| door.admit(address, Via::Root))
    });
    assert_eq!(again, Ok(Ok(Decision::Known)));
}
