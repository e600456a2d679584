//! Tests of the examples of the crawl with callbacks.
#![allow(clippy::unwrap_used)]

mod examples;
mod exercise;
mod observer;
