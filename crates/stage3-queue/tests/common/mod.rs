//! What the tests share. Each test file uses a part of it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, missing_docs)]

pub mod village;

use crawl_core::{ErrorClass, Options, Row};

/// What is asked of most crawls: ten fetches at a time.
pub fn options(roots: &[&str]) -> Options {
    let mut options = Options::new(roots.iter().map(|root| root.parse().unwrap()).collect());
    options.max_tasks = Some(10);
    options.max_tries = 1;
    options
}

/// The class of the error in a row.
pub fn class(row: &Row) -> Option<ErrorClass> {
    row.error.as_ref().map(|error| error.class)
}

/// A page of so many pages, and its links.
pub fn paths(n: usize) -> Vec<String> {
    (0..n).map(|n| format!("/{n}")).collect()
}
