//! Tests of the program `replay`.
#![allow(clippy::unwrap_used)]

mod replay;
