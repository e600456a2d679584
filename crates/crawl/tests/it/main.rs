//! Tests of the program `crawl` and of its library.
#![allow(clippy::unwrap_used)]

mod files;
mod flags;
mod formats;
mod library;
mod planted;
mod politeness;
mod program;
mod progress;
mod record;
mod reports;
mod request;
mod select;
mod shutdown;
mod sigusr1;
mod sources;
mod state;
mod together;
