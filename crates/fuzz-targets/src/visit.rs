//! One URL, from the bytes that a server sends to the row and the jobs.

use std::time::Instant;

use crawl_core::{Crawl, ErrorClass, Job, Options, Outcome, Received, Row};
use url::Url;

use crate::slices::in_any_slices;
use crate::{assert_documented, has_file_url};

/// How long a body may be.
const LARGEST_BODY: u64 = 50_000;

/// Gives a visit the input for its response: one row comes of it, and the same
/// jobs in any slices.
pub fn visit(input: &[u8]) {
    if has_file_url(input) {
        return;
    }
    let now = Instant::now();
    in_any_slices(input, |slices| crawl(slices, now));
}

/// The row, those of refused URLs, and the jobs. A row is compared as text.
type Told = (String, Vec<String>, Vec<Job>);

fn crawl(slices: &[&[u8]], now: Instant) -> Option<Told> {
    let mut options = Options::new(vec![Url::parse("http://site.test/dir/page").ok()?]);
    options.max_tries = 1;
    options.max_redirect = 1;
    options.max_body_size = LARGEST_BODY;
    let mut crawl = Crawl::new(options.clone());
    let job = crawl.roots(&mut (Box::new(|_| {}) as crawl_core::Sink)).pop()?;
    let mut visit = crawl.begin(job, now)?;
    visit.request(&options, true);
    let mut received = Ok(());
    for slice in slices {
        match visit.receive(slice) {
            Ok(Received::More) => {}
            Ok(Received::Complete { .. }) => break,
            Err(error) => {
                received = Err(error);
                break;
            }
        }
    }
    let received = received.and_then(|()| visit.receive_end());
    visit.judge(received);
    let conclusion = crawl.conclude(visit, now);
    let mut row = conclusion.row;
    assert_consistent(&row, conclusion.jobs.len() + conclusion.others.len());
    if let Some(error) = &mut row.error {
        // It says what was seen when it was found.
        error.message.clear();
        // A decoder of Brotli finds out earlier or later.
        if matches!(error.class, ErrorClass::Decode | ErrorClass::TooLarge) {
            row.size = 0;
        }
    }
    let skipped = conclusion.others.iter().map(|row| format!("{row:?}")).collect();
    Some((format!("{row:?}"), skipped, conclusion.jobs))
}

fn assert_consistent(row: &Row, new_urls: usize) {
    assert_eq!(&*row.url, "http://site.test/dir/page");
    assert_eq!(row.tries, 1);
    assert!(row.size <= LARGEST_BODY);
    assert!(row.num_new_urls <= row.num_urls);
    match row.outcome {
        Outcome::Page => assert_eq!(row.num_new_urls as usize, new_urls),
        Outcome::Redirect => assert!(row.next_url.is_some() && new_urls <= 1),
        Outcome::Other | Outcome::HttpError | Outcome::Failed => assert_eq!(new_urls, 0),
        Outcome::Skipped => panic!("it was asked"),
    }
    assert!(row.status.is_some() || row.outcome == Outcome::Failed);
    assert!(row.error.is_some() || row.outcome != Outcome::Failed);
    assert!(row.error.is_none() || row.is_broken());
    if let Some(error) = &row.error {
        let classes = [
            ErrorClass::Closed,
            ErrorClass::Truncated,
            ErrorClass::Protocol,
            ErrorClass::TooLarge,
            ErrorClass::Decode,
            ErrorClass::RedirectTarget,
            ErrorClass::RedirectLimit,
        ];
        assert_documented(error, &classes);
    }
}
