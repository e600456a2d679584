//! The fuzz target of a visit: one URL, from the bytes of the response to the row and
//! the jobs.

use std::time::Instant;

use crawl_core::{Crawl, ErrorClass, Job, Options, Outcome, Row};
use url::Url;

use crate::slices::in_any_slices;
use crate::{assert_documented, has_file_url};

/// The maximum size of a body in bytes.
const MAX_BODY_SIZE: u64 = 50_000;

/// Feeds the input to a visit as the response. Asserts that the row is consistent, and
/// that the row and the jobs are the same in any slices.
pub fn visit(input: &[u8]) {
    if has_file_url(input) {
        return;
    }
    let now = Instant::now();
    in_any_slices(input, |slices| crawl(slices, now));
}

/// The row, the rows of skipped URLs, and the jobs. Rows are compared as text.
type Observed = (String, Vec<String>, Vec<Job>);

fn crawl(slices: &[&[u8]], now: Instant) -> Option<Observed> {
    let mut options = Options::new(vec![Url::parse("http://site.test/dir/page").ok()?]);
    options.settings.max_tries = 1;
    options.settings.max_redirect = 1;
    options.settings.max_body_size = MAX_BODY_SIZE;
    let mut crawl = Crawl::new(options.clone());
    let job = crawl.roots(&mut (Box::new(|_| {}) as crawl_core::Sink)).pop()?;
    let mut visit = crawl.begin(job, now)?;
    visit.request(&options, true);
    let received = slices.iter().try_for_each(|slice| visit.receive(slice)).break_value();
    // The connection ends after a complete response, too.
    let received = received.map_or(Ok(()), |received| received.map(|_| ()));
    let received = received.and_then(|()| visit.receive_end());
    visit.judge(received.map(|_| ()));
    let completion = crawl.complete(&mut visit, now);
    let mut row = completion.row;
    // A link that is not a URL has a row, and does not count as a new URL.
    let others = completion.others.iter().filter(|other| other.outcome != Outcome::Failed);
    assert_consistent(&row, completion.jobs.len() + others.count());
    if let Some(error) = &mut row.error {
        // The message depends on the bytes that had arrived before the error.
        error.message.clear();
        // A Brotli decoder finds an error earlier or later, depending on the slices.
        if matches!(error.class, ErrorClass::Decode | ErrorClass::TooLarge) {
            row.size = None;
        }
    }
    let skipped = completion.others.iter().map(|row| format!("{row:?}")).collect();
    Some((format!("{row:?}"), skipped, completion.jobs))
}

fn assert_consistent(row: &Row, new_urls: usize) {
    assert_eq!(&*row.url, "http://site.test/dir/page");
    assert_eq!(row.tries, 1);
    assert!(row.size <= Some(MAX_BODY_SIZE));
    assert!(row.num_new_urls <= row.num_urls);
    match row.outcome {
        // What arrived of a page that was cut is searched.
        Outcome::Page | Outcome::Failed => assert_eq!(row.num_new_urls as usize, new_urls),
        Outcome::Redirect => assert!(row.next_url.is_some() && new_urls <= 1),
        Outcome::Other | Outcome::HttpError => assert_eq!(new_urls, 0),
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
            ErrorClass::RedirectLoop,
        ];
        assert_documented(error, &classes);
    }
}
