//! The decisions of one crawl: the admission of URLs, visits with their retries
//! and deadlines, rows and reports. The code is sans-I/O: it has no socket, no
//! clock and no thread, and it never waits. The caller hands in bytes and
//! instants and gets decisions back.
//!
//! The formats (HTTP, HTML, links, robots.txt, sitemaps) are in the crate
//! [`web`].
//!
//! The rules of this crate:
//!
//! 1. **One door.** A URL becomes work only through [`Admission::admit`],
//!    which normalises it, tests it and remembers it in one step.
//! 2. **One URL, one row.** Each URL that was admitted, or refused for good,
//!    ends as exactly one [`Row`]. A fragment that links name and that is
//!    missing in its page is a further row, and so is a link that is not a URL.
//! 3. **A visit decides, a stage waits.** [`Visit`] says what to send, when a
//!    response is complete, whether to try again and after what backoff. It does
//!    not know if a thread, a callback or a coroutine does the waiting.
//! 4. **Everything has a limit**, and crossing it is an error with a name.
//! 5. **A page is read as it arrives.** Its bytes pass through the parsers of
//!    [`web`] in slices of any size. The slicing does not change the result, and
//!    nothing of the page is kept but its links.
//!
//! Read `admission` first, then `visit`, and `crawl`, which puts them together.
//!
//! The calls of one crawl, in order:
//!
//! ```text
//! Crawl::new ── roots ──► Job ── Crawl::begin ──► Visit
//!                          ▲                       │  per attempt: Visit::request, receive*, receive_end
//!                          │                       │  Visit::judge ──► TryAgain(pause) | Finished
//!                          └──── Crawl::complete ◄─┘
//!                                     └──► Row
//! ```

mod admission;
mod check;
mod cookie_date;
mod cookies;
mod crawl;
mod deadline;
mod deferral;
mod finished;
mod host_options;
mod host_wait;
mod journal_entry;
mod memory;
mod network;
mod options;
mod pace;
mod proxy;
mod public_suffix;
mod report;
mod response_body;
mod row;
mod scope;
mod settings;
mod summary;
mod texts;
mod trap_limits;
mod unchecked;
mod visit;
mod warnings;

pub use admission::{
    Admission, Candidate, Decision, Job, LinkContext, LocalAdmission, LocalCompletion, Purpose,
    Referrer, TrapCount, Via,
};
pub use check::Check;
pub use cookies::CookieJar;
pub use crawl::{Completion, Crawl, CrawlProgress};
pub use deadline::{Deadline, Phase};
pub use deferral::{DeferReason, Deferral};
pub use finished::Finished;
pub use host_options::{HostOptions, HostPattern};
pub use host_wait::{BusyHost, HostWait, WaitReason};
pub use journal_entry::{JournalEntry, OutLink};
pub use options::{Options, Sink};
pub use pace::Pace;
pub use proxy::{Proxy, ProxyKind, ProxyRules};
pub use report::Report;
pub use row::{ExternalVerdict, Outcome, Row};
pub use scope::ScopeRule;
pub use settings::Settings;
pub use summary::{CrawlSummary, StopReason};
pub use trap_limits::TrapLimits;
pub use unchecked::{Unchecked, UncheckedReason};
pub use visit::{Received, Server, SiteFile, Verdict, Visit};
pub use warnings::Warnings;
pub use web::select::{Selected, Selection};
pub use web::{ErrorClass, FetchError};

/// The result of a fetch, or of a part of it.
pub type FetchResult = Result<(), FetchError>;
