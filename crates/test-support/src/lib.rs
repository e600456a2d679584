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
pub mod examples;
pub mod pathological;
pub mod programs;
#[cfg(feature = "settings")]
pub mod settings;
pub mod sources;

use std::env;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns the number of cases that a property is tested with: the variable
/// `PROPTEST_CASES`, with which `.ci/soak` asks for many, or `quick` without it.
pub fn cases(quick: u32) -> u32 {
    env::var("PROPTEST_CASES").ok().and_then(|number| number.parse().ok()).unwrap_or(quick)
}

/// Returns a port of 127.0.0.1 that is free, another one each time. It is below those that
/// systems give out by themselves, and apart from those of other processes, so it is still
/// free when the server comes to listen.
pub fn free_port() -> u16 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let n = std::process::id().wrapping_mul(64) + COUNT.fetch_add(1, Ordering::Relaxed);
        let port = 10_000 + (n % 20_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Event loops of stage 2 with a virtual clock.
#[cfg(feature = "event-loops")]
pub mod event_loops {
    use stage2_coroutines::{Coroutine, Runtime, virtual_runtime};

    /// Creates an event loop whose clock jumps to the next timer.
    pub fn virtual_loop() -> Runtime {
        virtual_runtime()
    }

    /// Runs a coroutine to its end.
    ///
    /// # Panics
    /// When the loop ends with an error.
    pub fn run<T>(runtime: &Runtime, coroutine: impl Coroutine<Output = T>) -> T {
        runtime.run_until_complete(coroutine).unwrap()
    }
}
