//! Three tasks at once on one thread: each suspends itself between two
//! multiplications, and the others go on.
//!
//! `cargo run -p stage2-coroutines --example parallel_factorial`
#![allow(clippy::print_stdout)] // An example may print.

use std::io;
use std::time::Duration;

use asyncio::{ReturnWhen, wait};
use stage2_coroutines::{EventLoop, Task, sleep, virtual_runtime};

async fn factorial(event_loop: EventLoop, name: &'static str, number: u32) {
    let mut product = 1;
    for factor in 2..=number {
        println!("{name} multiplies {product} by {factor}");
        sleep(&event_loop, Duration::from_secs(1)).await;
        product *= factor;
    }
    println!("{name} has {number}! = {product}");
}

fn main() -> io::Result<()> {
    // In virtual time: the three seconds cost nothing, and the order of the
    // lines is always the same.
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();
    let begin = event_loop.now();

    // A task belongs to the loop from the moment it is spawned. It runs even if
    // no code awaits it.
    let tasks = [("A", 2), ("B", 3), ("C", 4)]
        .map(|(name, number)| Task::spawn(event_loop, factorial(event_loop.clone(), name, number)));
    let all = wait(event_loop, tasks, ReturnWhen::AllCompleted, None);
    let (done, pending) = runtime.run_until_complete(all)?;

    println!("{} done, {} pending", done.len(), pending.len());
    // All of them together take as long as the slowest: three seconds.
    println!("{:?} in all", event_loop.now() - begin);
    Ok(())
}
