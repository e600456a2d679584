//! Event loops of stage 2 with a virtual clock.

use std::sync::Arc;

use selector_core::VirtualClock;
use stage2_coroutines::{Coroutine, EventLoop};
use transport::system_lookup;

/// Creates an event loop whose clock jumps to the next timer.
pub fn virtual_loop() -> EventLoop {
    EventLoop::with_backend(VirtualClock::new(), Arc::new(system_lookup))
}

/// Runs a coroutine to its end.
///
/// # Panics
/// When the loop ends with an error.
pub fn run<T>(event_loop: &EventLoop, coroutine: impl Coroutine<Output = T>) -> T {
    event_loop.run_until_complete(coroutine).unwrap()
}
