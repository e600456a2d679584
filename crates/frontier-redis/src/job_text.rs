//! The text of a job in Redis, and of a job that was claimed.

use crawl_core::{Job, Purpose};

/// Number of broken leases of a job after which it gets no more requests: it may be the
/// job that kills its workers. A robots.txt is requested again without a limit.
const MAX_BROKEN: u64 = 10;

/// What is added to the status of a failed server if its URL gets no further request.
const SETTLED: u64 = 1_000;

/// Returns the text of a job: its purpose, the redirects left, the depth, the URL and
/// its referrer. A job that is refused, see [`REFUSED`], has a mark before that.
pub(crate) fn write(job: &Job, referrer: Option<&str>, mark: Option<usize>) -> String {
    let purpose = match job.purpose {
        Purpose::Page => 'p',
        Purpose::Resource => 'r',
        Purpose::External => 'e',
        Purpose::Media => 'm',
        Purpose::Sitemap => 's',
    };
    let mark = mark.map(|mark| format!("#{mark}")).unwrap_or_default();
    let (redirects_left, depth, url) = (job.redirects_left, job.depth, &job.url);
    let mut text = format!("{mark}{purpose}{redirects_left},{depth} {url}");
    if let Some(referrer) = referrer {
        // The origin is left out if it is that of the URL, as a rule.
        let path = referrer.strip_prefix(job.address().origin());
        text.push(' ');
        text.push_str(path.filter(|path| path.starts_with('/')).unwrap_or(referrer));
    }
    text
}

/// The mark of a job that is refused for its own URL.
pub(crate) const REFUSED: usize = 0;

/// The mark of a job that is refused because its host has as many pages as it may. The
/// marks after it are those of the counts of
/// [`LocalAdmission::trap_counts`](crawl_core::LocalAdmission::trap_counts).
pub(crate) const HOST_IS_FULL: usize = 1;

/// A job that was claimed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClaimedJob {
    pub(crate) job: Job,
    pub(crate) host: String,
    /// The origin whose robots.txt is the job, if it is one: true for https.
    pub(crate) rules_of: Option<bool>,
    pub(crate) referrer: Option<String>,
    /// The mark of a job that is refused.
    pub(crate) mark: Option<usize>,
    /// True if its result counts even if the server throttles it.
    pub(crate) is_last: bool,
    /// True if its server has failed at it once.
    pub(crate) has_failed: bool,
    /// The status with which that server has failed, if this is its second attempt.
    pub(crate) server_error: Option<u16>,
    /// True if it does not get that attempt: it ends with this status.
    pub(crate) is_settled: bool,
    /// The number of attempts before this one.
    pub(crate) earlier_tries: u32,
    /// True if so many leases were broken that it gets no more requests.
    pub(crate) is_poison: bool,
}

/// Parses a lease as the script for claims returns it: `token host kind start before
/// entry`. Returns `None` for any other text.
pub(crate) fn read(lease: &str) -> Option<ClaimedJob> {
    let mut fields = lease.splitn(6, ' ');
    let (host, kind, entry) = (fields.nth(1)?, fields.next()?, fields.nth(2)?);
    let (state, entry) = match entry.strip_prefix('!') {
        Some(rest) => rest.split_once('!')?,
        None => ("", entry),
    };
    let state: Vec<u64> = state.split(',').flat_map(str::parse).collect();
    let failed = state.get(6).copied().unwrap_or(0);
    let mut claimed = ClaimedJob {
        job: Job::for_file(""),
        host: host.to_owned(),
        rules_of: None,
        referrer: None,
        mark: None,
        is_last: state.get(5) == Some(&1),
        has_failed: failed > 0,
        server_error: u16::try_from(failed % SETTLED).ok().filter(|status| *status >= 100),
        is_settled: failed >= SETTLED,
        earlier_tries: state.get(7).and_then(|tries| u32::try_from(*tries).ok()).unwrap_or(0),
        is_poison: state.first().is_some_and(|broken| *broken >= MAX_BROKEN),
    };
    if kind != "f" {
        let is_secure = kind == "1";
        let scheme = if is_secure { "https" } else { "http" };
        claimed.job = Job::for_file(&format!("{scheme}://{host}/robots.txt"));
        claimed.rules_of = Some(is_secure);
        return Some(claimed);
    }
    let mut words = entry.split(' ');
    let (head, url) = (words.next()?, words.next()?);
    let at = head.find(|letter: char| letter.is_ascii_alphabetic())?;
    claimed.mark = head[..at].strip_prefix('#').map(str::parse).transpose().ok()?;
    let purpose = match &head[at..=at] {
        "p" => Purpose::Page,
        "r" => Purpose::Resource,
        "m" => Purpose::Media,
        "s" => Purpose::Sitemap,
        _ => Purpose::External,
    };
    let (redirects_left, depth) = head[at + 1..].split_once(',')?;
    let (redirects_left, depth) = (redirects_left.parse().ok()?, depth.parse().ok()?);
    claimed.job = Job::of_candidate(url, redirects_left, depth, purpose);
    claimed.referrer = words.next().map(|referrer| match referrer.strip_prefix('/') {
        Some(_) => format!("{}{referrer}", claimed.job.address().origin()),
        None => referrer.to_owned(),
    });
    Some(claimed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_comes_back_as_it_was() {
        for purpose in
            [Purpose::Page, Purpose::Resource, Purpose::Media, Purpose::Sitemap, Purpose::External]
        {
            for referrer in [None, Some("http://a.test/x?y"), Some("https://b.test:81/")] {
                for mark in [None, Some(0), Some(2)] {
                    let job = Job::of_candidate("http://a.test/?a=!,", 9, 31, purpose);
                    let text = write(&job, referrer, mark);
                    for (state, is_last) in [("", false), ("!10,4,3,0,61000000,1,0,5!", true)] {
                        let claimed = read(&format!("1.2 a.test f 17 0 {state}{text}")).unwrap();
                        assert_eq!((&claimed.job, &*claimed.host), (&job, "a.test"));
                        assert_eq!(claimed.referrer.as_deref(), referrer);
                        assert_eq!((claimed.mark, claimed.rules_of), (mark, None));
                        assert_eq!((claimed.is_last, claimed.is_poison), (is_last, is_last));
                    }
                }
            }
        }
    }

    #[test]
    fn the_job_for_a_robots_txt_is_a_file() {
        let claimed = read("1.2 a.test:81 1 17 0 ").unwrap();
        assert_eq!(&*claimed.job.url, "https://a.test:81/robots.txt");
        assert!(claimed.job.is_file() && claimed.rules_of == Some(true) && !claimed.is_last);
        assert!(read("1.2 a.test 0 17 0 !0,3,3,0,7,1,0,3!").unwrap().is_last);
        assert_eq!(read("1.2 a.test f 17"), None);
    }

    #[test]
    fn a_job_remembers_the_failure_of_its_server() {
        for (failed, expected) in [
            (0, (false, None, false)),
            (1, (true, None, false)),
            (502, (true, Some(502), false)),
            (1502, (true, Some(502), true)),
        ] {
            let lease = format!("1.2 a.test f 17 0 !0,0,0,0,0,0,{failed},7!p9,0 http://a.test/");
            let claimed = read(&lease).unwrap();
            let is = (claimed.has_failed, claimed.server_error, claimed.is_settled);
            assert_eq!((is, claimed.earlier_tries), (expected, 7), "{failed}");
        }
    }
}
