//! Tests of the program `crawl` and of its library.
#![allow(clippy::unwrap_used)]

mod baseline;
mod config;
mod cookies;
mod external;
mod files;
mod flags;
mod formats;
mod incomplete;
mod library;
mod link_passwords;
mod long_urls;
#[cfg(feature = "redis")]
mod many_machines;
mod planted;
mod planted_site;
mod politeness;
mod program;
mod progress;
mod proxies;
mod record;
mod redirects;
mod reports;
mod request;
mod roots;
mod select;
mod shutdown;
mod sigusr1;
mod sources;
mod state;
mod together;
mod unchecked;
