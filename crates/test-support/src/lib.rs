//! Helpers shared by the tests of several crates: certificates, encoders, event
//! loops with a virtual clock, expensive pages, pages that are parsed as browsers do,
//! examples run with a timeout, ports, programs, numbers of cases, settings that differ from
//! the defaults, and the sources of the workspace.
//!
//! Only tests, fuzz targets and benches depend on this crate.
#![allow(clippy::unwrap_used)]

#[cfg(feature = "authority")]
pub mod authority;
#[cfg(feature = "pages")]
pub mod comparable;
#[cfg(feature = "encoders")]
pub mod encoders;
#[cfg(feature = "event-loops")]
pub mod event_loops;
pub mod examples;
pub mod pathological;
pub mod ports;
pub mod programs;
pub mod properties;
#[cfg(feature = "settings")]
pub mod settings;
pub mod sources;
