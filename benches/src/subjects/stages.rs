//! The stages, as they are.

use std::io;

use crawl_core::{Ending, Options, Outcome, Row, Sink};

use super::Work;
use crate::tally::Tally;

pub(super) fn threads(work: Work, tally: Tally) -> io::Result<()> {
    crawl(stage0_threads::crawl, work, tally)
}

pub(super) fn callbacks(work: Work, tally: Tally) -> io::Result<()> {
    crawl(stage1_callbacks::crawl, work, tally)
}

pub(super) fn coroutines(work: Work, tally: Tally) -> io::Result<()> {
    crawl(stage2_coroutines::crawl, work, tally)
}

pub(super) fn queue(work: Work, tally: Tally) -> io::Result<()> {
    crawl(stage3_queue::crawl, work, tally)
}

fn crawl(
    crawl: fn(Options, Sink) -> io::Result<Ending>,
    work: Work,
    tally: Tally,
) -> io::Result<()> {
    let sink = move |row: Row| {
        if matches!(row.outcome, Outcome::Page | Outcome::Other) {
            tally.found(&row.url);
        }
    };
    crawl(work.options, Box::new(sink)).map(drop)
}
