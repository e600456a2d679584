//! A greeting every two seconds, with callbacks: each call arranges the next.
//!
//! `cargo run -p stage2-coroutines --example hello_world_callback`
#![allow(clippy::print_stdout)] // An example may print.

use std::io;
use std::time::Duration;

use asyncio::prelude::*;
use stage2_coroutines::{EventLoop, virtual_runtime};

/// Prints the greeting and has itself called again. A callback cannot wait in a
/// loop statement; it can only return and be called later. Compare
/// `hello_world_coroutine`.
fn greet(event_loop: EventLoop) {
    println!("Hello World");
    let again = event_loop.clone();
    event_loop.call_later(Duration::from_secs(2), move || greet(again));
}

fn main() -> io::Result<()> {
    // In virtual time a second costs nothing. With `system_runtime()?` the
    // program takes the five seconds it is given below.
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();

    let first = event_loop.clone();
    event_loop.call_soon(move || greet(first));
    let end = event_loop.clone();
    event_loop.call_later(Duration::from_secs(5), move || end.stop());

    runtime.run_forever()?;
    // The fourth greeting is still scheduled; closing the loop drops it.
    drop(runtime);
    Ok(())
}
