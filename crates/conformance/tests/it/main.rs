//! Tests of every stage against the same servers, and of the shape of the workspace.
#![allow(clippy::unwrap_used)]

mod admission;
mod awkward;
mod common;
mod connect_limit;
mod connection_pool;
mod deadlines;
mod denied_addresses;
mod dependencies;
mod dns;
mod faults;
mod fd_limit;
mod hostile;
mod levels;
mod many_tasks;
mod one_shape;
mod original;
mod panics;
mod read_by_hand;
mod real_apache;
mod real_httpbin;
mod real_nginx;
mod real_site;
mod same_pages;
mod scope;
mod selections;
mod sinks;
mod soak_faults;
mod spurious_events;
mod stopped;
mod system_calls;
mod tls;
mod traces;
