//! A comparison: the time to find the only link of a page with deeply nested
//! elements, with a tree and without.
#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use crawl_core::FetchError;
use web::links::{ExtractOptions, LinkExtractor, Tree};

// ANCHOR: two_ways
fn with_a_tree(page: &str) -> Result<Vec<String>, FetchError> {
    let tree = Tree::of(page)?;
    Ok(tree.links().map(str::to_owned).collect())
}

fn as_it_goes_by(page: &str) -> Vec<String> {
    let mut extractor = LinkExtractor::new(ExtractOptions::default());
    extractor.feed(page.as_bytes());
    let found = extractor.finish();
    found.links().map(|link| link.href.to_owned()).collect()
}
// ANCHOR_END: two_ways

fn main() {
    for depth in [250, 500, 1_000, 20_000] {
        let page = "<div>".repeat(depth) + "<a href=/found>";
        let (without, links) = best_of_five(|| as_it_goes_by(&page));
        let (with, of_the_tree) = best_of_five(|| with_a_tree(&page));
        println!("{depth} elements deep: {links:?}");
        println!("  as it goes by  {:8.0} us", micros(without));
        match of_the_tree {
            Ok(found) if found == links => println!("  with a tree    {:8.0} us", micros(with)),
            Ok(found) => println!("  with a tree    {found:?}"),
            Err(error) => println!("  with a tree    {error}"),
        }
    }
}

fn best_of_five<T>(mut find: impl FnMut() -> T) -> (Duration, T) {
    let mut run = || {
        let begun = Instant::now();
        let found = find();
        (begun.elapsed(), found)
    };
    (0..4).fold(run(), |best, _| {
        let next = run();
        if next.0 < best.0 { next } else { best }
    })
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
