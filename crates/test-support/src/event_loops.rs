//! Event loops of stage 2 with a virtual clock.

use stage2_coroutines::{Coroutine, EventLoop};

/// Creates an event loop whose clock jumps to the next timer.
pub fn virtual_loop() -> EventLoop {
    EventLoop::in_virtual_time()
}

/// Runs a coroutine to its end.
///
/// # Panics
/// When the loop ends with an error.
pub fn run<T>(event_loop: &EventLoop, coroutine: impl Coroutine<Output = T>) -> T {
    event_loop.run_until_complete(coroutine).unwrap()
}
