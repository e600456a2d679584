//! Tests against a real server of Redis, which they start on a Unix socket.
#![allow(clippy::unwrap_used)]

mod ceilings;
mod crawl;
mod doors;
mod kills;
mod losses;
mod politeness;
mod redis;
mod worker;
