//! The checks of asyncio's `Task._step`, one by one, and what this crate does in
//! the same cases. Bad yields are missing: they do not compile, and the module
//! `names_of_asyncio` of the crate's documentation shows them.
//!
//! `cargo run -p stage2-coroutines --example task_checks`
#![allow(clippy::print_stdout)] // An example may print.

use std::cell::Cell;
use std::error::Error;
use std::fmt::Debug;
use std::rc::Rc;

use asyncio::prelude::*;
use stage2_coroutines::{
    EventLoop, Exception, Future, Inspect, Runtime, Task, virtual_runtime, yield_now,
};

/// Returns a loop in virtual time, where waiting forever is an error.
fn new_loop() -> Runtime {
    virtual_runtime()
}

fn say(title: &str, outcome: Result<impl Debug, Exception>) {
    match outcome {
        Ok(value) => println!("{title}: {value:?}"),
        Err(exception) => println!("{title}: {exception}"),
    }
}

// ANCHOR: wrong_one
/// Awaits a task from within itself, and a future of another loop. A task can
/// have its own handle only if that is passed in after the spawn.
async fn waits_for_the_wrong_one(event_loop: &EventLoop) {
    let handle: Rc<Cell<Option<Task<()>>>> = Rc::default();
    let own = Rc::clone(&handle);
    let task = Task::spawn(event_loop, async move {
        if let Some(myself) = own.take() {
            say("a task awaits itself", myself.await);
        }
    });
    handle.set(Some(task.clone()));
    say("and is done with that", task.await);

    let other = new_loop();
    let foreign = Future::<()>::new(other.event_loop());
    say("a future of another loop", foreign.await);
}
// ANCHOR_END: wrong_one

/// Cancels a task before a step. The coroutine is not resumed to be told: its
/// variables are dropped where it is suspended.
async fn is_cancelled_before_a_step(event_loop: &EventLoop) -> Result<(), Exception> {
    let task = Task::spawn(event_loop, async { println!("never printed") });
    task.cancel();
    say("cancelled before the first step", task.await);

    let future = Future::new(event_loop);
    let awaited = future.clone();
    let farewell = Farewell;
    let task = Task::spawn(event_loop, async move {
        let _farewell = farewell;
        say("never printed", awaited.await);
    });
    // It takes its first step. Then it is woken, but not resumed yet.
    yield_now(event_loop).await;
    future.set_result(())?;
    task.cancel();
    say("cancelled before the next step", task.await);
    Ok(())
}

struct Farewell;

impl Drop for Farewell {
    fn drop(&mut self) {
        println!("  (its variables are dropped)");
    }
}

async fn is_resumed(event_loop: &EventLoop) -> Result<(), Box<dyn Error>> {
    let myself = event_loop.clone();
    let task = Task::spawn(event_loop, async move { myself.current_task() });
    let key = task.key();
    println!("a task knows whose turn it is: {}", task.await? == Some(key));
    println!("outside of tasks it is no task's: {}", event_loop.current_task().is_none());

    let task = Task::spawn(event_loop, async { println!("a bare yield: others have a turn,") });
    yield_now(event_loop).await;
    say("and then one goes on", task.await);

    let future = Future::<u32>::new(event_loop);
    future.set_exception("no route to host")?;
    say("resumed with an error", future.await);

    // The panic hook prints to stderr. The loop and all other tasks go on.
    let task: Task<()> = Task::spawn(event_loop, async { panic!("this cannot be") });
    say("the worst that can happen", task.await);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = new_loop();
    let event_loop = runtime.event_loop();
    runtime.run_until_complete(async {
        waits_for_the_wrong_one(event_loop).await;
        is_cancelled_before_a_step(event_loop).await?;
        is_resumed(event_loop).await
    })?
}
