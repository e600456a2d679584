//! Tests of streams, name lookups and the connect limiter.
#![allow(clippy::unwrap_used)]

mod certificates;
#[cfg(feature = "tls")]
mod common;
mod connect_limiter;
mod connect_policy;
mod fd_limit;
mod resolver;
mod session;
mod stream;
