//! Helpers that the tests share: the stages, crawls under a watchdog, expected
//! rows, and servers. Each test file uses a part of them.
#![allow(dead_code, unreachable_pub, unused_imports, missing_docs)]
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod demo;
mod expected_row;
pub mod fault_proxy;
pub mod faults;
mod interceptor;
pub mod real_server;
mod stage;
pub mod tls;

pub use demo::{demo_site, expect_all_of, expect_requested_once};
pub use expected_row::{ExpectedRow, failed, http_error, other, page, redirect, skipped};
use interceptor::InterceptedBackend;
pub use interceptor::{CountedSocket, Interceptor};
pub use stage::{Crawled, LoopStats, Stage};

use std::time::Duration;

use crawl_core::Options;
use demo_site::scripted::{Reply, Request, Server};

/// The time after which a crawl counts as hanging. No crawl here takes longer.
pub const WATCHDOG: Duration = Duration::from_secs(20);

/// Returns the options of most crawls: ten fetches at a time, each tried once.
pub fn options(root: impl AsRef<str>) -> Options {
    options_for(&[root.as_ref()])
}

/// Returns the same options as [`options`] for several roots.
pub fn options_for(roots: &[&str]) -> Options {
    let mut options = Options::new(roots.iter().map(|root| root.parse().unwrap()).collect());
    options.max_tasks = Some(10);
    options.settings.max_tries = 1;
    // The stages are compared by the requests they make, and only the last one
    // asks for robots.txt.
    options.settings.robots = false;
    options
}

/// Starts a scripted server; see [`Server::start`].
pub fn serve(handler: impl Fn(&Request, &mut Reply<'_>) + Send + Sync + 'static) -> Server {
    Server::start(handler).unwrap()
}

/// Returns a page that links to these targets.
pub fn links<T: AsRef<str>>(targets: impl IntoIterator<Item = T>) -> String {
    let link = |target: T| format!("<a href=\"{}\">link</a>\n", target.as_ref());
    targets.into_iter().map(link).collect()
}
