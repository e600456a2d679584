//! Tests of the crawl with threads.
#![allow(clippy::unwrap_used)]

mod examples;
mod threads;
mod without_features;
