//! A chain of coroutines: one awaits another and goes on with its result.
//!
//! `cargo run -p stage2-coroutines --example chain`
#![allow(clippy::print_stdout)] // An example may print.

use std::io;
use std::time::Duration;

use stage2_coroutines::{EventLoop, Inspect, sleep, virtual_runtime};

async fn compute(event_loop: &EventLoop, x: u32, y: u32) -> u32 {
    println!("adding {x} to {y} takes a second");
    sleep(event_loop, Duration::from_secs(1)).await;
    x + y
}

/// `await` is delegation: this coroutine and the one it awaits are one value. To
/// resume it is to resume the innermost one. There is no task and no loop
/// between the two: a return is an ordinary return.
async fn print_sum(event_loop: &EventLoop, x: u32, y: u32) {
    let sum = compute(event_loop, x, y).await;
    println!("{x} + {y} = {sum}");
}

fn main() -> io::Result<()> {
    // In virtual time: the second costs nothing.
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();

    runtime.run_until_complete(print_sum(event_loop, 1, 2))?;
    // One step up to the sleep, and one from there to the end.
    println!("{} steps for the whole chain", event_loop.stats().polls);
    Ok(())
}
