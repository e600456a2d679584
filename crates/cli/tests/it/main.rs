//! Tests of the command line that the programs share.
#![allow(clippy::unwrap_used)]

mod flags;
mod limits;
mod tls;
