//! The fuzz target of the admission of URLs to the frontier.

use std::collections::HashSet;

use crawl_core::{Admission, Decision, ErrorClass, Job, Options, TrapLimits, Via};
use url::Url;
use web::Address;

use crate::{assert_documented, has_file_url};

/// Limits so small that short inputs cross them.
const LIMITS: TrapLimits = TrapLimits {
    url_bytes: 100,
    segments: 6,
    repetitions: 3,
    variants: 10,
    below: 10,
    near: 3,
    equal_pages: 5,
};
const MAX_DEPTH: u32 = 5;
const MAX_REDIRECT: u32 = 2;

/// Admits URLs, one per line. A line is `/` and a root URL; or `-` and a link, or `>`
/// and a redirect, both with a character that names their page in between. Asserts that
/// each normalised URL is decided once and counted once.
pub fn admission(input: &[u8]) {
    if has_file_url(input) {
        return;
    }
    let Ok(input) = str::from_utf8(input) else { return };
    let base = Url::parse("http://site.test/").ok();
    let mut options = Options::new(base.iter().cloned().collect());
    options.settings.max_depth = Some(MAX_DEPTH);
    options.settings.max_redirect = MAX_REDIRECT;
    options.settings.traps = LIMITS;
    options.settings.strip_query = vec!["s".into()];
    let mut admission = Admission::new(&options);
    let mut jobs: Vec<Job> = Vec::new();
    let mut decided = HashSet::new();
    for line in input.lines() {
        let Some((kind, from, link)) = parse_line(line, &jobs) else { continue };
        let Ok(url) = Url::options().base_url(base.as_ref()).parse(link) else { continue };
        let Ok(address) = Address::of(&url) else { continue };
        let via = match (kind, &from) {
            ('-', Some(from)) => Via::Link(from),
            ('>', Some(from)) => Via::Redirect(from),
            _ => Via::Root,
        };
        match admission.admit(address, via) {
            Decision::Admitted(job) => {
                assert!(decided.insert(job.url.to_string()), "twice: {}", job.url);
                assert!(job.depth <= MAX_DEPTH && job.redirects_left <= MAX_REDIRECT);
                assert!(job.url.len() <= LIMITS.url_bytes);
                assert_normal(&mut admission, &job);
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
            Decision::Known
            | Decision::Repeated
            | Decision::TooDeep
            | Decision::Outside
            | Decision::Unchecked => {}
        }
    }
    assert_eq!(admission.seen(), decided.len());
    for url in &decided {
        let (referrers, count) = admission.referrers(url);
        assert!(referrers.len() <= count as usize);
        if let Some(referrer) = admission.first_referrer(url) {
            assert!(jobs.iter().any(|job| *job.url == *referrer), "nobody asked for {referrer}");
        }
    }
}

/// Parses a line: the kind of its first character, the job of its page, and its URL.
fn parse_line<'a>(line: &'a str, jobs: &[Job]) -> Option<(char, Option<Job>, &'a str)> {
    let mut characters = line.chars();
    let kind = characters.next()?;
    if kind == '/' {
        return Some((kind, None, characters.as_str()));
    }
    let number = characters.next()? as usize;
    let from = jobs.get(number.checked_rem(jobs.len())?)?;
    Some((kind, Some(from.clone()), characters.as_str()))
}

/// Asserts that an admitted URL is normalised: parsed again, it is known.
fn assert_normal(admission: &mut Admission, job: &Job) {
    let again = Url::parse(&job.url);
    let again = again.as_ref().map(|url| {
        assert_eq!(url.as_str(), &*job.url);
        Address::of(url).map(|address| admission.admit(address, Via::Root))
    });
    assert_eq!(again, Ok(Ok(Decision::Known)));
}
