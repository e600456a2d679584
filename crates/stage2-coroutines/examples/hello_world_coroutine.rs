//! A greeting every two seconds, with a coroutine: a loop with a sleep in it.
//!
//! `cargo run -p stage2-coroutines --example hello_world_coroutine`
#![allow(clippy::print_stdout)] // An example may print.

use std::time::Duration;

use asyncio::prelude::*;
use stage2_coroutines::{EventLoop, sleep, virtual_runtime};

/// Prints the greeting for ever, and yet blocks no other code: at the `await` it
/// is suspended, and the loop is free for two seconds.
async fn greet_every_two_seconds(event_loop: &EventLoop) {
    loop {
        println!("Hello World");
        sleep(event_loop, Duration::from_secs(2)).await;
    }
}

fn main() {
    // In virtual time a second costs nothing. With `system_runtime()` the
    // program takes the five seconds it is given below.
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();

    // This prints nothing: the call only makes the coroutine.
    let greeting = greet_every_two_seconds(event_loop);
    if let Err(error) = runtime.run_sync(greeting, Duration::from_secs(5)) {
        println!("That is enough: {error}.");
    }
}
