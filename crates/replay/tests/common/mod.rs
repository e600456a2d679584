//! What the tests share: the stages, a crawl under a watchdog, and what is
//! expected of its rows. Each test file uses a part of it.
#![allow(dead_code, unreachable_pub, unused_imports, missing_docs)]
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod demo;
pub mod faults;
pub mod gateway;
pub mod peer;
pub mod programs;
pub mod sources;
mod stage;
pub mod tls;
mod told;
mod world;

pub use demo::{demo_site, expect_all_of, expect_asked_once};
pub use stage::{Crawled, Stage, Work};
pub use told::{Told, failed, http_error, other, page, redirect, skipped};
use world::Meddled;
pub use world::Meddler;

use std::time::Duration;

use crawl_core::Options;
use demo_site::scripted::{Reply, Request, Server};

/// Longer than any crawl here takes, unless it takes for ever.
pub const WATCHDOG: Duration = Duration::from_secs(20);

/// What is asked of most crawls: ten fetches at a time, each tried once.
pub fn options(root: impl AsRef<str>) -> Options {
    options_for(&[root.as_ref()])
}

/// The same for several roots.
pub fn options_for(roots: &[&str]) -> Options {
    let mut options = Options::new(roots.iter().map(|root| root.parse().unwrap()).collect());
    options.max_tasks = Some(10);
    options.max_tries = 1;
    // The stages are compared by the requests they make, and only the last one
    // asks for robots.txt.
    options.robots = false;
    options
}

/// A scripted server; see [`Server::start`].
pub fn serve(handler: impl Fn(&Request, &mut Reply<'_>) + Send + Sync + 'static) -> Server {
    Server::start(handler).unwrap()
}

/// A page that links to these.
pub fn links<T: AsRef<str>>(targets: impl IntoIterator<Item = T>) -> String {
    let link = |target: T| format!("<a href=\"{}\">link</a>\n", target.as_ref());
    targets.into_iter().map(link).collect()
}
