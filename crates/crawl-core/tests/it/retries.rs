//! Tests of retries and their backoff.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use crawl_core::{Crawl, ErrorClass, FetchError, Options, Row, Sink, Verdict};

/// Returns the pauses after each failed try of a URL, until the last one.
fn pauses(url: &str, change: impl FnOnce(&mut Options)) -> Vec<Duration> {
    failing_with(ErrorClass::Closed, url, change).0
}

fn failing_with(
    class: ErrorClass,
    url: &str,
    change: impl FnOnce(&mut Options),
) -> (Vec<Duration>, Row) {
    let mut options = Options::new(vec![url.parse().unwrap()]);
    options.settings.max_tries = 10;
    change(&mut options);
    let mut crawl = Crawl::new(options);
    let mut sink: Sink = Box::new(|_| ());
    let job = crawl.roots(&mut sink).remove(0);
    let mut visit = crawl.begin(job, Instant::now()).unwrap();
    let mut pauses = Vec::new();
    while let Verdict::TryAgain(pause) = visit.judge(Err(FetchError::new(class, "a test"))) {
        pauses.push(pause);
    }
    (pauses, crawl.complete(&mut visit, Instant::now()).row)
}

#[test]
fn pauses_double_and_are_never_nothing() {
    let pauses = pauses("http://site.test/", |_| ());
    let millis = [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000];
    assert_eq!(pauses.len(), millis.len());
    for (pause, min) in pauses.into_iter().zip(millis.map(Duration::from_millis)) {
        assert!(min <= pause && pause <= 2 * min, "{pause:?}: {min:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_pauses() {
    let drawn = |seed| pauses("http://site.test/", |options| options.seed = seed);
    assert_eq!(drawn(7), drawn(7));
    assert_ne!(drawn(7), drawn(8));
}

/// The jitter protects a server that was down for a moment from all retries at
/// once.
#[test]
fn urls_that_fail_together_are_retried_at_different_times() {
    const URLS: usize = 1000;
    let first = |n| pauses(&format!("http://site.test/{n}"), |_| ())[0];
    let pauses: BTreeSet<Duration> = (0..URLS).map(first).collect();
    assert!(pauses.len() > URLS * 99 / 100, "hardly two alike");
    // The jitter is 100 ms: each tenth of it gets about a tenth of the URLs.
    for tenth in 10..20 {
        let tenth = Duration::from_millis(tenth * 10)..Duration::from_millis(tenth * 10 + 10);
        let count = pauses.range(tenth.clone()).count();
        assert!((60..140).contains(&count), "{count} in {tenth:?}");
    }
}

#[test]
fn a_try_without_a_connection_has_no_response() {
    let options = Options::new(vec!["http://site.test/".parse().unwrap()]);
    let mut crawl = Crawl::new(options.clone());
    let job = crawl.roots(&mut |_| ()).remove(0);
    let mut visit = crawl.begin(job, Instant::now()).unwrap();
    visit.request(&options, true);
    assert!(visit.receive(b"HTTP/1.1 200 OK\r\n").is_continue());
    let cut = visit.interrupted(&ErrorKind::ConnectionReset.into());
    assert_eq!(cut.class, ErrorClass::Truncated);
    assert!(matches!(visit.judge(Err(cut)), Verdict::TryAgain(_)));
    let refused = visit.interrupted(&ErrorKind::ConnectionRefused.into());
    assert_eq!(refused.class, ErrorClass::Connect);
    assert!(!visit.has_request());
}

#[test]
fn only_transient_errors_are_retried() {
    use ErrorClass as C;
    for class in [C::Dns, C::Connect, C::Timeout, C::Closed, C::Truncated] {
        let (pauses, row) = failing_with(class, "http://site.test/", |o| o.settings.max_tries = 3);
        assert_eq!((pauses.len(), row.tries), (2, 3), "{class:?}");
    }
    for class in [C::Tls, C::Protocol, C::TooLarge, C::Decode] {
        let (pauses, row) = failing_with(class, "http://site.test/", |o| o.settings.max_tries = 3);
        assert_eq!((pauses.len(), row.tries), (0, 1), "{class:?}");
    }
}
