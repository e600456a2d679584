//! Tests of the selector, of the timers and of the examples.
#![allow(clippy::unwrap_used)]

mod examples;
mod selector;
mod traced;
mod virtual_clock;
