//! A future between two parts of a program: a task that sets the result, and
//! the code that waits for it, here `run_until_complete`.
//!
//! `cargo run -p stage2-coroutines --example future_run_until_complete`
#![allow(clippy::print_stdout)] // An example may print.

use std::error::Error;
use std::time::Duration;

use asyncio::prelude::*;
use stage2_coroutines::{EventLoop, Future, InvalidState, Task, sleep, virtual_runtime};

/// A task may outlive the function that spawned it, so it owns all it uses.
/// Handles to a loop or to a future are cheap to clone.
async fn slow_operation(
    event_loop: EventLoop,
    future: Future<&'static str>,
) -> Result<(), InvalidState> {
    sleep(&event_loop, Duration::from_secs(1)).await;
    future.set_result("the slow operation is over")
}

fn main() -> Result<(), Box<dyn Error>> {
    // In virtual time: the second costs nothing.
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();

    let future = Future::new(event_loop);
    let operation = slow_operation(event_loop.clone(), future.clone());
    let task = Task::spawn(event_loop, operation);
    println!("before: the future is done: {}", future.done());

    let result = runtime.run_until_complete(future)??;
    println!("after: {result}");

    // The task is a future as well, with the return value of its coroutine.
    task.result()??;
    Ok(())
}
