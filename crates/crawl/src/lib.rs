//! A crawler as a library: everything that a program needs to crawl a site and
//! to act on the results, from one place.
//!
//! ```
//! use crawl::{Crawler, Outcome, default_options};
//!
//! # let server = demo_site::scripted::Server::start(|_, reply| reply.page("<a href=/a>a</a>"))?;
//! # let site = server.url("/");
//! let options = default_options(vec![site.parse()?]);
//! let mut pages = Vec::new();
//! let summary = Crawler::builder(options)
//!     .on_row(|row| {
//!         if row.outcome == Outcome::Page {
//!             pages.push(row.url);
//!         }
//!     })
//!     .run()?;
//! assert_eq!((pages.len(), summary.done), (2, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The rules of this crate:
//!
//! 1. **[`Options`] say where a crawl begins and how far it goes**, and
//!    [`default_options`] are those of the program; the [`Builder`] says what becomes of it: rows, progress, warnings, a journal
//!    from which it can be resumed.
//! 2. **Every URL whose fetch has ended, or that was refused for good, arrives as
//!    exactly one [`Row`].** A fetch that a stop cuts off has none, and is left to do.
//!    A robots.txt and the sitemaps have none either.
//! 3. **Callbacks run on the caller's thread**, one at a time, and may borrow
//!    from it.
//! 4. **A [`ShutdownHandle`] ends a crawl from any thread**: a graceful shutdown with a
//!    [`CrawlSummary`] of what was done and what is left.
//!
//! The parts behind it are crates of their own: `stage3-queue` (queue, workers,
//! politeness, journal), `stage2-coroutines` (the runtime), `crawl-core` (the
//! decisions), `web` (the formats), `transport` (TLS and DNS) and
//! `selector-core` (readiness and timers).

pub use crawl_core::{
    Admission, Check, CrawlProgress, CrawlSummary, ErrorClass, FetchError, LinkContext, Options,
    Outcome, Referrer, Report, Row, ScopeRule, Selected, Selection, Settings, StopReason,
    TrapLimits,
};
pub use stage3_queue::{Builder, Crawler, ShutdownHandle};

use url::Url;

/// Returns the options that the program `crawl` has without a flag: besides links it checks
/// images, scripts, styles and the like. [`Options::new`] checks links alone.
pub fn default_options(roots: Vec<Url>) -> Options {
    let mut options = Options::new(roots);
    options.settings.check = Check::USUAL;
    options
}
