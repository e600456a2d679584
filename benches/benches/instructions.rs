//! The bench `instructions`: instruction counts by valgrind, which are the same
//! in every run on every machine of a kind, however busy.
//!
//! Five benches fail when they take 3 % more instructions than when their limit was set. They do
//! the same work each time: crawls on a simulated network, a hundred thousand task switches among
//! a hundred tasks, and as many tasks spawned and awaited, a hundred at a time.
//!
//! Crawls of a real server, in another process, are compared with crawls by others
//! and have no limit: how often they are woken depends on how busy the machine is.
//! Each fetches a thousand pages, a hundred at a time. Neither the server nor the
//! kernel is counted.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "subjects/links.rs"]
mod links;
// The names of the runtimes are not used: the function names tell them apart.
#[allow(dead_code)]
#[path = "subjects/runtimes.rs"]
mod runtimes;
#[path = "subjects/simulated.rs"]
mod simulated;
#[path = "subjects/tasks.rs"]
mod tasks;

use std::hint::black_box;
use std::path::Path;

use benches::pages::documentation;
use benches::subjects::{Subject, Work};
use benches::{Crawl, Run, ServerProcess, Site};
use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind};
use runtimes::{AsyncExecutor, Ours, Pool, Runtime, Tokio};
use scraper::Selector;
use simulated::{Prepared as Simulated, Site as SimulatedSite, prepare};
use tasks::{spawns, switches};

/// The number of switches, and of spawned tasks.
const TIMES: u64 = 100_000;

fn page(size: usize) -> String {
    documentation(size)
}

fn page_and_selector(size: usize) -> (String, Selector) {
    (documentation(size), Selector::parse("a[href]").expect("this is a selector"))
}

fn page_and_lol_html_selector(size: usize) -> (String, lol_html::Selector) {
    (documentation(size), "a[href]".parse().expect("this is a selector"))
}

#[library_benchmark(setup = page)]
#[bench::small(8 * 1024)]
#[bench::large(60 * 1024)]
fn links_ours(page: String) -> usize {
    links::ours(black_box(&page))
}

#[library_benchmark(setup = page)]
#[bench::small(8 * 1024)]
#[bench::large(60 * 1024)]
fn links_ours_whole(page: String) -> usize {
    links::ours_whole(black_box(&page))
}

#[library_benchmark(setup = page_and_selector)]
#[bench::small(8 * 1024)]
#[bench::large(60 * 1024)]
fn links_scraper((page, selector): (String, Selector)) -> usize {
    links::scraper(black_box(&page), &selector).len()
}

#[library_benchmark(setup = page)]
#[bench::small(8 * 1024)]
#[bench::large(60 * 1024)]
fn links_html5ever(page: String) -> usize {
    links::html5ever(black_box(&page)).len()
}

#[library_benchmark(setup = page)]
#[bench::small(8 * 1024)]
#[bench::large(60 * 1024)]
fn links_html5gum(page: String) -> usize {
    links::html5gum(black_box(&page)).len()
}

#[library_benchmark(setup = page_and_lol_html_selector)]
#[bench::small(8 * 1024)]
#[bench::large(60 * 1024)]
fn links_lol_html((page, selector): (String, lol_html::Selector)) -> usize {
    links::lol_html(black_box(&page), &selector).len()
}

/// A subject with its work, and the server.
struct Prepared {
    subject: Subject,
    work: Work,
    server: ServerProcess,
}

/// Prepares a crawl that knows all URLs.
fn prepared(name: &str, keep_alive: bool) -> Prepared {
    prepared_for(name, Site { keep_alive, is_html: false, ..Site::default() })
}

/// Prepares a crawl that follows links.
fn prepared_with_links(name: &str) -> Prepared {
    prepared_for(name, Site::default())
}

fn prepared_for(name: &str, site: Site) -> Prepared {
    // This program itself runs in valgrind, so another one serves.
    let program = Path::new(env!("CARGO_BIN_EXE_paired"));
    let server = ServerProcess::start_program(program, site).unwrap();
    let subject = Subject::named(name).unwrap();
    let work = Work::new(&Crawl::new(subject.name, &server, 100, !site.is_html)).unwrap();
    Prepared { subject, work, server }
}

/// Sets the limit of a bench.
fn at_most(instructions: u64) -> LibraryBenchmarkConfig {
    let mut callgrind = Callgrind::default();
    callgrind.hard_limits([(EventKind::Ir, instructions)]);
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(callgrind);
    config
}

#[library_benchmark(setup = prepare)]
#[bench::close(SimulatedSite::Close)]
fn simulated_stage1(simulated: Simulated) {
    simulated::callbacks(simulated);
}

#[library_benchmark(setup = prepare)]
#[bench::close(args = (SimulatedSite::Close), config = at_most(25_450_000))]
fn simulated_stage2(simulated: Simulated) {
    simulated::coroutines(simulated);
}

#[library_benchmark(setup = prepare)]
#[bench::close(args = (SimulatedSite::Close), config = at_most(29_950_000))]
#[bench::keep_alive(SimulatedSite::KeepAlive)]
#[bench::links(args = (SimulatedSite::Links), config = at_most(160_200_000))]
fn simulated_stage3(simulated: Simulated) {
    simulated::queue(simulated);
}

#[library_benchmark(setup = prepared)]
#[bench::bare_mio_close(args = ("bare-mio", false))]
#[bench::stage1_close(args = ("stage1-callbacks", false))]
#[bench::stage2_close(args = ("stage2-coroutines", false))]
#[bench::stage3_close(args = ("stage3-queue", false))]
#[bench::bare_mio(args = ("bare-mio", true))]
#[bench::mio_floor(args = ("mio-floor", true))]
#[bench::mio_floor_close(args = ("mio-floor", false))]
#[bench::stage3(args = ("stage3-queue", true))]
#[bench::tokio_raw(args = ("tokio-raw", true))]
#[bench::tokio_hyper(args = ("tokio-hyper", true))]
fn thousand_pages(prepared: Prepared) -> (Run, ServerProcess) {
    (prepared.subject.run(prepared.work).unwrap(), prepared.server)
}

#[library_benchmark(setup = prepared_with_links)]
#[bench::bare_mio(args = ("bare-mio",))]
#[bench::stage3(args = ("stage3-queue",))]
#[bench::tokio_raw("tokio-raw")]
#[bench::tokio_hyper("tokio-hyper")]
fn thousand_pages_with_links(prepared: Prepared) -> (Run, ServerProcess) {
    (prepared.subject.run(prepared.work).unwrap(), prepared.server)
}

#[library_benchmark(setup = Ours::new, config = at_most(40_200_000))]
fn switch_ours(runtime: Ours) {
    switches(&runtime, TIMES);
}

#[library_benchmark(setup = Tokio::new)]
fn switch_tokio(runtime: Tokio) {
    switches(&runtime, TIMES);
}

#[library_benchmark(setup = AsyncExecutor::new)]
fn switch_async_executor(runtime: AsyncExecutor) {
    switches(&runtime, TIMES);
}

#[library_benchmark(setup = Pool::new)]
fn switch_local_pool(runtime: Pool) {
    switches(&runtime, TIMES);
}

#[library_benchmark(setup = Ours::new, config = at_most(231_000_000))]
fn spawn_ours(runtime: Ours) {
    spawns(&runtime, TIMES);
}

#[library_benchmark(setup = Tokio::new)]
fn spawn_tokio(runtime: Tokio) {
    spawns(&runtime, TIMES);
}

#[library_benchmark(setup = AsyncExecutor::new)]
fn spawn_async_executor(runtime: AsyncExecutor) {
    spawns(&runtime, TIMES);
}

#[library_benchmark(setup = Pool::new)]
fn spawn_local_pool(runtime: Pool) {
    spawns(&runtime, TIMES);
}

library_benchmark_group!(
    name = link_extraction,
    benchmarks = [
        links_ours,
        links_ours_whole,
        links_scraper,
        links_html5ever,
        links_html5gum,
        links_lol_html
    ]
);
library_benchmark_group!(
    name = simulated_crawls,
    benchmarks = [simulated_stage1, simulated_stage2, simulated_stage3]
);
library_benchmark_group!(name = crawls, benchmarks = [thousand_pages, thousand_pages_with_links]);
library_benchmark_group!(
    name = scheduling,
    benchmarks = [
        switch_ours,
        switch_tokio,
        switch_async_executor,
        switch_local_pool,
        spawn_ours,
        spawn_tokio,
        spawn_async_executor,
        spawn_local_pool
    ]
);
main!(library_benchmark_groups = link_extraction, simulated_crawls, crawls, scheduling);
