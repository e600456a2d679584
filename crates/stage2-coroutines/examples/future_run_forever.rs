//! The program of `future_run_until_complete` without a coroutine that waits: a
//! callback of the future prints the result and stops the loop.
//!
//! `cargo run -p stage2-coroutines --example future_run_forever`
#![allow(clippy::print_stdout)] // An example may print.

use std::error::Error;
use std::time::Duration;

use asyncio::prelude::*;
use stage2_coroutines::{EventLoop, Future, InvalidState, Task, sleep, virtual_runtime};

async fn slow_operation(
    event_loop: EventLoop,
    future: Future<&'static str>,
) -> Result<(), InvalidState> {
    sleep(&event_loop, Duration::from_secs(1)).await;
    future.set_result("the slow operation is over")
}

fn got_result(future: &Future<&'static str>) {
    match future.result() {
        Ok(result) => println!("{result}"),
        Err(exception) => println!("no result: {exception}"),
    }
    future.event_loop().stop();
}

fn main() -> Result<(), Box<dyn Error>> {
    // In virtual time: the second costs nothing.
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();

    let future = Future::new(event_loop);
    let operation = slow_operation(event_loop.clone(), future.clone());
    let task = Task::spawn(event_loop, operation);
    // Early enough: no task takes a step before the loop runs.
    future.add_done_callback(got_result);

    runtime.run_forever()?;
    task.result()??;
    Ok(())
}
