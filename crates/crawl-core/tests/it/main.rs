//! Tests of the decisions of a crawl, without sockets and waiting.
#![allow(clippy::unwrap_used)]

mod admission;
mod admission_model;
mod crawl;
mod examples;
mod fragments;
mod link_context;
mod local;
mod nofollow;
mod pipeline;
mod purposes;
mod replay;
mod retries;
mod settings;
mod site;
