//! The ends of a loop's run, and what happens to the tasks that are pending.
#![allow(clippy::print_stdout)]

use std::io;
use std::time::Duration;

use asyncio::prelude::*;
use stage2_coroutines::{EventLoop, Inspect, InspectTask, Task, sleep, virtual_runtime};

const SECOND: Duration = Duration::from_secs(1);

// ANCHOR: clock
/// Never ends by itself.
async fn clock(event_loop: EventLoop) {
    for second in 1_u32.. {
        sleep(&event_loop, SECOND).await;
        println!("    tick {second}");
    }
}
// ANCHOR_END: clock

// ANCHOR: main
fn main() -> io::Result<()> {
    // In virtual time: the seconds cost nothing.
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    event_loop.set_exception_handler(|error| println!("  {error}"));
    let clock = Task::spawn(&event_loop, clock(event_loop.clone())).named("clock");

    println!("until something is done:");
    let answer = runtime.run_until_complete(async {
        sleep(&event_loop, SECOND * 5 / 2).await;
        42
    })?;
    println!("  {answer}, and {} task is pending", event_loop.pending_tasks());

    println!("again:");
    runtime.run_until_complete(sleep(&event_loop, SECOND))?;

    println!("stopped by a callback:");
    let handle = event_loop.clone();
    event_loop.call_later(SECOND, move || handle.stop());
    if let Err(error) = runtime.run_until_complete(sleep(&event_loop, 9 * SECOND)) {
        println!("  {error}");
    }

    println!("closed:");
    drop(runtime);
    let pending = event_loop.pending_tasks();
    println!("  {pending} tasks are pending, and the clock {:?}", clock.future());
    Ok(())
}
// ANCHOR_END: main
