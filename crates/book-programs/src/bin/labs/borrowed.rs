//! A future with a callback, and a task that awaits the same future.

use std::panic::Location;

use asyncio::prelude::*;
use stage2_coroutines::{Future, InspectTask, Task, Wait, leaf_at};

pub(crate) fn run() -> crate::Outcome {
    let event_loop = crate::event_loop()?;
    let result = Future::<u32>::new(&event_loop).shared();
    result.add_done_callback(|future| println!("callback: done is {}", future.done()));
    let (inside, shared) = (event_loop.clone(), result.clone());
    let wait = async move { with_wait(&inside, Wait::Future, Location::caller(), shared).await };
    let waiter = Task::spawn(&event_loop, wait).named("waiter");
    let setter = Task::spawn(&event_loop, async move { result.set_result(42) });
    let all = async {
        match setter.named("setter").await {
            Ok(_) => println!("setter: has set the result"),
            Err(exception) => println!("setter: {exception}"),
        }
        waiter.await
    };
    let value = runtime.run_until_complete(all)???;
    println!("waiter: {value}");
    Ok(true)
}
