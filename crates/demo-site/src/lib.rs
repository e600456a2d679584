//! A deterministic website served on loopback: something to crawl in demos,
//! tests and benches.
//!
//! The rules of this crate:
//!
//! 1. **The same options are the same site, byte for byte.** Everything comes
//!    from the seed: the links, the prose, how long each URL takes. So there
//!    is no `Date` field in a response and no port in a page.
//! 2. **A page is computed, never stored.** A million pages cost as much
//!    memory as a hundred, apart from a four-byte hit counter each.
//! 3. **A connection holds an offset, not bytes.** A waiting connection owns no
//!    buffer, and one in the middle of a large page remembers an offset.
//! 4. **One thread, and never the bottleneck.** A measurement of a crawler
//!    here measures the crawler.
//! 5. **The site knows what a correct crawler finds** ([`DemoSite::expected`]),
//!    from lists of its own rather than from what it serves.
//!
//! For a server that misbehaves in one precise way there is [`scripted`].

#![forbid(unsafe_code)]

mod connection;
mod counters;
mod demo_site;
mod expected;
mod graph;
mod mix;
mod options;
pub mod planted;
mod prose;
mod request;
mod response;
pub mod scripted;
mod server;
mod site;
mod special;

pub use demo_site::DemoSite;
pub use expected::{Expected, Kind};
pub use options::{Connections, Latency, SiteOptions};
