//! The results of all URLs: the one name that each result has in every report for people, and
//! how many URLs have it.

use std::collections::BTreeMap;

use crawl_core::{ErrorClass, ExternalVerdict, FetchError, Outcome, Row};

/// The result of a URL, as reports for people name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultKind {
    Fine,
    Redirect,
    Broken,
    /// Broken, and in the baseline.
    Known,
    /// An error status that the user accepts.
    Accepted,
    /// On another site, which refuses crawlers.
    Blocked,
    /// On another site, which has given no clear answer.
    Unsure,
    /// Not requested, or only to be told to go away.
    Skipped,
}

impl ResultKind {
    pub(super) const ALL: [Self; 8] = [
        Self::Fine,
        Self::Redirect,
        Self::Broken,
        Self::Known,
        Self::Accepted,
        Self::Blocked,
        Self::Unsure,
        Self::Skipped,
    ];

    /// Those that a reader has to know of, the weightiest first.
    pub(super) const IN_REPORTS: [Self; 7] = [
        Self::Broken,
        Self::Redirect,
        Self::Blocked,
        Self::Unsure,
        Self::Known,
        Self::Accepted,
        Self::Skipped,
    ];

    /// Returns the result of a URL.
    pub(super) fn of(row: &Row, is_broken: bool, is_known: bool) -> Self {
        match (row.verdict, row.outcome) {
            _ if is_known => Self::Known,
            _ if is_broken => Self::Broken,
            (Some(ExternalVerdict::Blocked), _) => Self::Blocked,
            (Some(ExternalVerdict::Unsure), _) => Self::Unsure,
            (_, Outcome::Skipped) => Self::Skipped,
            (_, Outcome::Redirect) => Self::Redirect,
            (_, Outcome::HttpError) if row.is_accepted => Self::Accepted,
            // Of a circle of redirects, a part that no link enters.
            (_, Outcome::HttpError | Outcome::Failed) => Self::Redirect,
            (_, Outcome::Page | Outcome::Other) => Self::Fine,
        }
    }

    /// Returns the name of the result, which is also its class in the report's style sheet.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Redirect => "redirect",
            Self::Broken => "broken",
            Self::Known => "known",
            Self::Accepted => "accepted",
            Self::Blocked => "blocked",
            Self::Unsure => "unsure",
            Self::Skipped => "skipped",
        }
    }

    /// Returns what the name means, for a reader who sees it for the first time.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Fine => "answered as it should",
            Self::Redirect => "leads to another address",
            Self::Broken => "to be repaired",
            Self::Known => "broken, and in the baseline",
            Self::Accepted => "error status that --accept allows",
            Self::Blocked => "on another site, which refuses crawlers; may work in a browser",
            Self::Unsure => "on another site, without a clear answer; check again later",
            Self::Skipped => "not checked",
        }
    }
}

/// Numbers of URLs by their results.
pub(super) type Counts = [u64; ResultKind::ALL.len()];

/// The kinds of statuses, in the order of [`Statistics::statuses`].
pub(super) const STATUSES: [&str; 7] =
    ["2xx", "3xx", "4xx", "5xx", "other status", "no answer", "not requested"];

/// The upper ends of the ranges of sizes, in bytes, and their names.
pub(super) const SIZES: [(u64, &str); 6] = [
    (1_000, "under 1 kB"),
    (10_000, "1 to 10 kB"),
    (100_000, "10 to 100 kB"),
    (1_000_000, "100 kB to 1 MB"),
    (10_000_000, "1 to 10 MB"),
    (u64::MAX, "10 MB and more"),
];

/// The upper ends of the ranges of times, in milliseconds, and their names.
pub(super) const TIMES: [(u64, &str); 7] = [
    (10, "under 10 ms"),
    (30, "10 to 30 ms"),
    (100, "30 to 100 ms"),
    (300, "100 to 300 ms"),
    (1_000, "0.3 to 1 s"),
    (3_000, "1 to 3 s"),
    (u64::MAX, "3 s and more"),
];

/// The number of depths that are counted apart; the last one has all below it.
pub(super) const NUM_DEPTHS: usize = 10;

/// The counts of all URLs of a crawl, also of those that a report leaves out.
#[derive(Default)]
pub(super) struct Statistics {
    pub(super) results: Counts,
    pub(super) statuses: [Counts; STATUSES.len()],
    pub(super) sizes: [u64; SIZES.len()],
    pub(super) times: [u64; TIMES.len()],
    /// Pages by their clicks from where the crawl began.
    pub(super) depths: [u64; NUM_DEPTHS],
    /// The pages whose links were checked.
    pub(super) pages: u64,
    /// The skipped URLs, by the reason.
    pub(super) skipped: BTreeMap<&'static str, u64>,
}

impl Statistics {
    /// Counts a row.
    pub(super) fn count(&mut self, row: &Row, result: ResultKind) {
        self.results[result as usize] += 1;
        if let (ResultKind::Skipped, Some(error)) = (result, &row.error) {
            *self.skipped.entry(error.class.label()).or_default() += 1;
        }
        self.statuses[status_kind(row)][result as usize] += 1;
        if let Some(size) = row.size.filter(|_| is_document(row)) {
            self.sizes[range(&SIZES, size)] += 1;
        }
        if row.tries > 0 {
            self.times[range(&TIMES, row.elapsed_ms)] += 1;
        }
        if row.outcome == Outcome::Page {
            self.pages += 1;
            self.depths[(row.depth as usize).min(NUM_DEPTHS - 1)] += 1;
        }
    }

    /// Changes the result of a redirect that has been counted.
    pub(super) fn change_redirect(&mut self, from: ResultKind, to: ResultKind) {
        const REDIRECT: usize = 1;
        for counts in [&mut self.results, &mut self.statuses[REDIRECT]] {
            counts[from as usize] = counts[from as usize].saturating_sub(1);
            counts[to as usize] += 1;
        }
    }

    /// Returns the number of URLs with a result.
    pub(super) fn number(&self, result: ResultKind) -> u64 {
        self.results[result as usize]
    }

    /// Returns the number of URLs that were checked.
    pub(super) fn checked(&self) -> u64 {
        self.results.iter().sum::<u64>() - self.number(ResultKind::Skipped)
    }
}

/// Returns true if the size is that of a body a reader would get.
fn is_document(row: &Row) -> bool {
    matches!(row.outcome, Outcome::Page | Outcome::Other) && row.verdict.is_none()
}

fn range(ranges: &[(u64, &str)], value: u64) -> usize {
    ranges.iter().position(|(end, _)| value < *end).unwrap_or(ranges.len() - 1)
}

/// Returns the index of the kind of a status in [`STATUSES`].
fn status_kind(row: &Row) -> usize {
    // A fragment is a part of a page that has a row of its own.
    let is_requested =
        |error: &FetchError| !matches!(error.class, ErrorClass::Fragment | ErrorClass::InvalidUrl);
    match (row.outcome, row.status) {
        _ if !row.error.as_ref().is_none_or(is_requested) => 6,
        (Outcome::Skipped, None) => 6,
        (Outcome::Failed, _) | (_, None) => 5,
        (_, Some(200..=299)) => 0,
        (_, Some(300..=399)) => 1,
        (_, Some(400..=499)) => 2,
        (_, Some(500..=599)) => 3,
        (_, Some(_)) => 4,
    }
}
