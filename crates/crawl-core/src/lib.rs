//! Knows *what* a crawl is: requests, responses, links, who is let in, and
//! what is reported. It never waits: there is no socket, no clock and no
//! thread in here. Bytes and instants are handed in, decisions are handed out.
//!
//! The rules of this crate:
//!
//! 1. **One door.** A URL becomes work only through [`Admission::admit`],
//!    which normalises it, tests it and remembers it in one step.
//! 2. **One URL, one row.** Whatever happens to a URL that was let in, or
//!    refused for good, ends as exactly one [`Row`]. A place within a page that
//!    links name, and that is not there, is a row beside it.
//! 3. **A visit decides, a stage waits.** [`Visit`] says what to send, when a
//!    response is complete, whether to try again and after how long. Which
//!    thread, callback or coroutine does the waiting is none of its business.
//! 4. **Everything has a limit**, and crossing it is an error with a name.
//! 5. **A page is read as it comes.** Its bytes pass through the transfer coding
//!    ([`http`]), the content codings and the character encoding ([`content`])
//!    and a tokenizer ([`html`]) to what is looked for ([`links`]). How they
//!    were cut on the way cannot be seen, and none of it is kept but the links.
//!
//! The calls of one crawl, in order:
//!
//! ```text
//! Crawl::new ── roots ──► Job ── Crawl::begin ──► Visit
//!                          ▲                       │  per try: Visit::request, receive*, receive_end
//!                          │                       │  Visit::judge ──► TryAgain(pause) | Finished
//!                          └──── Crawl::conclude ◄─┘
//!                                     └──► Row
//! ```

pub mod content;
pub mod html;
pub mod http;
pub mod links;
pub mod page;
pub mod robots;
pub mod select;
pub mod sitemap;

mod address;
mod admission;
mod answer;
mod crawl;
mod error;
mod lead;
mod options;
mod patience;
mod report;
mod row;
mod scope;
mod stopped;
mod visit;

pub use address::{Address, Joiner, Unfit};
pub use admission::{Admission, Decision, Job, Mention, Purpose, Referrer, TrapLimits, Via};
pub use crawl::{Conclusion, Crawl, Ending, Standing};
pub use error::{ErrorClass, FetchError, is_command};
pub use lead::{Finished, Lead};
pub use options::{Check, Options, Sink};
pub use patience::Patience;
pub use report::Report;
pub use row::{Outcome, Row};
pub use scope::ScopeRule;
pub use stopped::Stopped;
pub use visit::{File, Received, Verdict, Visit};
