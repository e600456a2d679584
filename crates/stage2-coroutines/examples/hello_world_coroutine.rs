//! A greeting every two seconds, with a coroutine: a loop with a sleep in it.
//!
//! `cargo run -p stage2-coroutines --example hello_world_coroutine`
#![allow(clippy::print_stdout)] // An example may print.

use std::sync::Arc;
use std::time::Duration;

use selector_core::VirtualTime;
use stage2_coroutines::{EventLoop, sleep};
use transport::system_look_up;

/// Never returns, and yet blocks nobody: at the `await` it is left, and the
/// loop does something else for two seconds.
async fn greet_every_two_seconds(event_loop: &EventLoop) {
    loop {
        println!("Hello World");
        sleep(event_loop, Duration::from_secs(2)).await;
    }
}

fn main() {
    // In virtual time a second costs nothing. With `EventLoop::new()` the
    // program takes the five seconds it is given below.
    let event_loop = EventLoop::in_world(VirtualTime::new(), Arc::new(system_look_up));

    // Nothing is greeted here: the call only makes the coroutine.
    let greeting = greet_every_two_seconds(&event_loop);
    if let Err(error) = event_loop.run_sync(greeting, Duration::from_secs(5)) {
        println!("That is enough: {error}.");
    }
}
