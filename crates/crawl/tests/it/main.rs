//! Tests of the program `crawl` and of its library.
#![allow(clippy::unwrap_used)]

mod config;
mod external;
mod files;
mod flags;
mod formats;
mod library;
#[cfg(feature = "redis")]
mod many_machines;
mod planted;
mod politeness;
mod program;
mod progress;
mod proxies;
mod record;
mod reports;
mod request;
mod select;
mod shutdown;
mod sigusr1;
mod sources;
mod state;
mod together;
