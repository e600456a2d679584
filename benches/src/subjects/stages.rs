//! The subjects `stage0-threads` to `stage3-queue`: the stages.

use std::io;

use crawl_core::{CrawlSummary, Options, Outcome, Row, Sink};

use super::Work;
use crate::row_check::RowCheck;

pub(super) fn threads(work: Work, row_check: RowCheck) -> io::Result<()> {
    crawl(stage0_threads::crawl, work, row_check)
}

pub(super) fn callbacks(work: Work, row_check: RowCheck) -> io::Result<()> {
    crawl(stage1_callbacks::crawl, work, row_check)
}

pub(super) fn coroutines(work: Work, row_check: RowCheck) -> io::Result<()> {
    crawl(stage2_coroutines::crawl, work, row_check)
}

pub(super) fn queue(work: Work, row_check: RowCheck) -> io::Result<()> {
    crawl(stage3_queue::crawl, work, row_check)
}

fn crawl(
    crawl: fn(Options, Sink) -> io::Result<CrawlSummary>,
    work: Work,
    row_check: RowCheck,
) -> io::Result<()> {
    let sink = move |row: Row| {
        if matches!(row.outcome, Outcome::Page | Outcome::Other) {
            row_check.record(&row.url);
        }
    };
    crawl(work.options, Box::new(sink)).map(drop)
}
