//! The bench `growth`: the speed of a crawl, and its memory per URL, from a
//! thousand pages to a million: `growth/<subject>/<n>`.
//!
//! A crawl of this size takes too long for criterion's ten samples, and differs
//! less from run to run than a short one: every subject crawls three times, and
//! the crawl in the middle counts, with its memory. Only stage 3 crawls a million pages: the
//! others use the same URL table, and take a minute and more to close so many
//! connections. The pages are small, computed on request, and not stored.
//!
//! `growth/stage3-queue-huge-pages/<n>` is stage 3 in [huge pages](HUGE_PAGES).
//!
//! `growth/known/10000000` is the core alone, with ten million URLs that are generated and
//! never fetched: the time that one link takes as its page is settled, and the memory.
//!
//! An argument is a filter, as usual; with `--exact` it is the id of one bench.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::collections::{BTreeMap, VecDeque};
use std::env;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use benches::subjects::Subject;
use benches::{Crawl, ServerProcess, Site, SubjectProcess, figures, machine, play_role_if_asked};
use crawl_core::Options;
use serde::Serialize;
use url::Url;

/// The names in the ids, each with its subject; true for the one in huge pages.
const CRAWLERS: [(&str, &str, bool); 4] = [
    ("stage1-callbacks", "stage1-callbacks", false),
    ("stage2-coroutines", "stage2-coroutines", false),
    ("stage3-queue", "stage3-queue", false),
    ("stage3-queue-huge-pages", "stage3-queue", true),
];
const TASKS: usize = 100;
const TIMES: usize = 3;
/// The only subject that crawls a million pages.
const LAST: (&str, u32) = ("stage3-queue", 1_000_000);

/// The setting of glibc by which its allocator asks the kernel for huge pages, of 2 MiB, as
/// its memory grows by 64 MiB at a time. It is for Linux with `madvise` or `always` in
/// `/sys/kernel/mm/transparent_hugepage/enabled`.
const HUGE_PAGES: (&str, &str) =
    ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864");

/// The number of URLs that are known and never fetched.
const KNOWN: u32 = 10_000_000;
/// The number of links on a page; half of them are new.
const LINKS: u32 = 10;

/// The figures of a table of known URLs.
#[derive(Serialize)]
struct KnownFigures {
    /// The time to settle a page, divided by the number of its links: to join each with
    /// the URL of the page, and to admit it.
    nanoseconds_per_link: f64,
    /// The growth of the resident memory, in bytes: the table, and the jobs to do.
    resident: u64,
}

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

fn measure(
    subject: Subject,
    pages: u32,
    base: Option<(u32, u64)>,
    in_huge_pages: bool,
) -> io::Result<Figures> {
    let server = ServerProcess::start(Site { pages, page_size: 0, ..Site::default() })?;
    let mut crawls = Vec::new();
    for _ in 0..TIMES {
        let mut program = Command::new(env::current_exe()?);
        program.envs(in_huge_pages.then_some(HUGE_PAGES));
        let crawl = Crawl::new(subject.name, &server, TASKS, false);
        let mut process = SubjectProcess::start_program(program, crawl)?;
        crawls.push((process.run()?, process.memory()?.peak));
    }
    crawls.sort_by_key(|(run, _)| run.wall);
    let (run, peak) = crawls[TIMES / 2];
    let bytes_per_url = base.map(|(fewer, base)| {
        let text: usize = (fewer..pages).map(|page| server.url(page).len()).sum();
        (peak as f64 - base as f64 - text as f64) / f64::from(pages - fewer)
    });
    Ok(Figures {
        pages_per_second: f64::from(pages) / run.wall.as_secs_f64(),
        cpu_microseconds_per_page: run.cpu.as_secs_f64() * 1e6 / f64::from(pages),
        peak,
        bytes_per_url,
    })
}

/// Settles pages until so many URLs are known. Half of the links of a page are new, the
/// others lead to any URL that is known.
fn settle(urls: u32) -> KnownFigures {
    let before = machine::resident();
    // The URLs are of one host, which may have fewer pages by default.
    let mut options = Options::new(vec![Url::parse("http://site.test/page/0").unwrap()]);
    options.settings.max_pages_per_host = None;
    let mut crawl = crawl_core::Crawl::new(options.clone());
    let mut jobs = VecDeque::from(crawl.roots(&mut drop));
    let mut random = fastrand::Rng::with_seed(1);
    let (mut known, mut links, mut time) = (1, 0, Duration::ZERO);
    while known < urls {
        let job = jobs.pop_front().unwrap();
        let new = known..known + LINKS / 2;
        let numbers = new.chain((0..LINKS / 2).map(|_| random.u32(..known)));
        let body: String =
            numbers.map(|number| format!("<a href=/page/{number}>{number}</a>")).collect();
        let head = format!("Content-Type: text/html\r\nContent-Length: {}", body.len());
        let mut visit = crawl.visit(job.clone(), Instant::now());
        visit.request(&options, true);
        let _ = visit.receive(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").as_bytes());
        visit.judge(Ok(()));
        let finished = visit.finish(Instant::now());
        let begun = Instant::now();
        let completion = crawl.settle(&job, finished);
        time += begun.elapsed();
        assert_eq!(completion.jobs.len(), LINKS as usize / 2, "the new links are let in");
        jobs.extend(completion.jobs);
        (known, links) = (known + LINKS / 2, links + LINKS);
    }
    KnownFigures {
        nanoseconds_per_link: time.as_nanos() as f64 / f64::from(links),
        resident: machine::resident().saturating_sub(before),
    }
}

fn main() -> io::Result<()> {
    play_role_if_asked(None)?;
    let sizes: &[u32] =
        if figures::is_test() { &[100, 1000] } else { &[1000, 10_000, 100_000, 1_000_000] };
    let filter = env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_exact = env::args().any(|argument| argument == "--exact");
    let is_selected = |id: &String| {
        let matches = |filter: &String| if is_exact { id == filter } else { id.contains(filter) };
        filter.as_ref().is_none_or(matches)
    };
    let mut kept = BTreeMap::new();
    for (name, subject, in_huge_pages) in CRAWLERS {
        let subject = Subject::named(subject).unwrap();
        let mut base = None;
        for &pages in sizes {
            let id = format!("growth/{name}/{pages}");
            let is_too_large = pages == LAST.1 && subject.name != LAST.0;
            if is_too_large || !is_selected(&id) {
                continue;
            }
            let figures = measure(subject, pages, base, in_huge_pages)?;
            // In huge pages, it grows by 2 MiB at a time.
            if !in_huge_pages {
                base = base.or(Some((pages, figures.peak)));
            }
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
    let urls = if figures::is_test() { 10_000 } else { KNOWN };
    let id = format!("growth/known/{urls}");
    if is_selected(&id) {
        let figures = settle(urls);
        println!(
            "{id:36} {:8.0} ns/link {:8.1} MB",
            figures.nanoseconds_per_link,
            figures.resident as f64 / 1e6
        );
        figures::keep("growth-known", &BTreeMap::from([(id, figures)]))?;
    }
    figures::keep("growth", &kept).map(drop)
}
