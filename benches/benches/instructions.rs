//! How many instructions things take, counted by valgrind: the same on every
//! run and every machine of a kind, however busy.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "subjects/links.rs"]
mod subjects;

use std::hint::black_box;

use benches::pages::documentation;
use gungraun::prelude::*;
use scraper::Selector;

fn page(size: usize) -> String {
    documentation(size)
}

fn page_and_selector(size: usize) -> (String, Selector) {
    (documentation(size), Selector::parse("a[href]").expect("this is a selector"))
}

#[library_benchmark(setup = page)]
#[bench::small(8 * 1024)]
#[bench::large(60 * 1024)]
fn links_ours(page: String) -> usize {
    subjects::ours(black_box(&page))
}

#[library_benchmark(setup = page_and_selector)]
#[bench::small(8 * 1024)]
#[bench::large(60 * 1024)]
fn links_scraper((page, selector): (String, Selector)) -> usize {
    subjects::scraper(black_box(&page), &selector).len()
}

#[library_benchmark(setup = page)]
#[bench::small(8 * 1024)]
#[bench::large(60 * 1024)]
fn links_html5ever(page: String) -> usize {
    subjects::html5ever(black_box(&page)).len()
}

#[library_benchmark(setup = page)]
#[bench::small(8 * 1024)]
#[bench::large(60 * 1024)]
fn links_html5gum(page: String) -> usize {
    subjects::html5gum(black_box(&page)).len()
}

#[library_benchmark(setup = page)]
#[bench::small(8 * 1024)]
#[bench::large(60 * 1024)]
fn links_lol_html(page: String) -> usize {
    subjects::lol_html(black_box(&page)).len()
}

library_benchmark_group!(
    name = links,
    benchmarks = [links_ours, links_scraper, links_html5ever, links_html5gum, links_lol_html]
);
main!(library_benchmark_groups = links);
