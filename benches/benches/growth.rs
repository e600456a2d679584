//! The bench `growth`: the speed of a crawl, and its memory per URL, from a
//! thousand pages to a million: `growth/<subject>/<n>`.
//!
//! A crawl of this size takes too long for criterion's ten samples, and differs
//! less from run to run than a short one: every subject crawls three times, and
//! the fastest crawl counts. Only stage 3 crawls a million pages, once: the
//! others use the same URL table, and take a minute and more to close so many
//! connections. The pages are small, computed on request, and not stored.
//!
//! An argument is a filter, as usual; with `--exact` it is the id of one bench.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::io;

use benches::subjects::Subject;
use benches::{Crawl, ServerProcess, Site, SubjectProcess, figures, play_role_if_asked};
use serde::Serialize;

const SUBJECTS: [&str; 3] = ["stage1-callbacks", "stage2-coroutines", "stage3-queue"];
const TASKS: usize = 100;
const TIMES: usize = 3;
/// The only subject that crawls a million pages, once.
const LAST: (&str, u32) = ("stage3-queue", 1_000_000);

/// The figures of one subject and size.
#[derive(Serialize)]
struct Figures {
    pages_per_second: f64,
    cpu_microseconds_per_page: f64,
    /// The peak of the resident memory, in bytes.
    peak: u64,
    /// The growth of the peak per page, compared with the smallest crawl, without
    /// the text of the URL.
    bytes_per_url: Option<f64>,
}

fn measure(subject: Subject, pages: u32, base: Option<(u32, u64)>) -> io::Result<Figures> {
    let server = ServerProcess::start(Site { pages, page_size: 0, ..Site::default() })?;
    let mut fastest = None;
    let mut peak = 0;
    for _ in 0..if pages < LAST.1 { TIMES } else { 1 } {
        let mut process = SubjectProcess::start(Crawl::new(subject.name, &server, TASKS, false))?;
        let run = process.run()?;
        peak = process.memory()?.peak;
        fastest = fastest.filter(|fastest: &benches::Run| fastest.wall < run.wall).or(Some(run));
    }
    let fastest = fastest.unwrap();
    let bytes_per_url = base.map(|(fewer, base)| {
        let text: usize = (fewer..pages).map(|page| server.url(page).len()).sum();
        (peak as f64 - base as f64 - text as f64) / f64::from(pages - fewer)
    });
    Ok(Figures {
        pages_per_second: f64::from(pages) / fastest.wall.as_secs_f64(),
        cpu_microseconds_per_page: fastest.cpu.as_secs_f64() * 1e6 / f64::from(pages),
        peak,
        bytes_per_url,
    })
}

fn main() -> io::Result<()> {
    play_role_if_asked(None)?;
    let sizes: &[u32] =
        if figures::is_test() { &[100, 1000] } else { &[1000, 10_000, 100_000, 1_000_000] };
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_exact = std::env::args().any(|argument| argument == "--exact");
    let is_selected = |id: &String| {
        let matches = |filter: &String| if is_exact { id == filter } else { id.contains(filter) };
        filter.as_ref().is_none_or(matches)
    };
    let mut kept = BTreeMap::new();
    for name in SUBJECTS {
        let subject = Subject::named(name).unwrap();
        let mut base = None;
        for &pages in sizes {
            let id = format!("growth/{name}/{pages}");
            let is_too_large = pages == LAST.1 && name != LAST.0;
            if is_too_large || !is_selected(&id) {
                continue;
            }
            let figures = measure(subject, pages, base)?;
            base = base.or(Some((pages, figures.peak)));
            println!(
                "{id:36} {:8.0} pages/s {:7.1} us/page {:8.1} MB{}",
                figures.pages_per_second,
                figures.cpu_microseconds_per_page,
                figures.peak as f64 / 1e6,
                figures.bytes_per_url.map_or(String::new(), |bytes| format!("{bytes:8.0} B/URL")),
            );
            kept.insert(id, figures);
        }
    }
    figures::keep("growth", &kept).map(drop)
}
