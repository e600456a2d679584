//! Tests of the demo site and of scripted servers.
#![allow(clippy::unwrap_used)]

mod command;
mod common;
mod connections;
mod crawl;
mod scripted;
mod special;
