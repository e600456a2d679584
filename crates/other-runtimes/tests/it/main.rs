//! Tests of the same crawl on other runtimes.
#![allow(clippy::unwrap_used)]

mod examples;
mod same_rows;
