//! The tests of stage 2, in one program.
#![allow(clippy::unwrap_used, missing_docs)]

mod change_of_driver;
mod cycles;
mod deadlock;
mod examples;
mod examples_book;
mod exercise;
mod generator;
mod inspect;
mod million;
mod reentrancy;
mod runtime;
mod smallest_runtime;
#[allow(unreachable_pub)] // In the exercise it is a library.
#[path = "../../examples/smallest_runtime.rs"]
mod smallest_runtime_example;
mod sync;
mod traced;
