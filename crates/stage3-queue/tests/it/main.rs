//! The tests of stage 3.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;
mod denied_addresses;
mod ends;
mod examples;
mod exercise;
mod external_cache;
mod frontier;
mod frontier_hosts;
mod our_network;
mod politeness_busy;
mod politeness_hostile;
mod politeness_rate_limit;
mod politeness_robots;
mod politeness_server_errors;
mod politeness_sitemaps;
mod queue;
