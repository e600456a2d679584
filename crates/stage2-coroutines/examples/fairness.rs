//! Fairness: a task yields to the others where it suspends, and nowhere else.
#![allow(clippy::print_stdout)]

use std::io;

use asyncio::{ReturnWhen, wait};
use stage2_coroutines::{EventLoop, Future, Task, virtual_runtime, yield_now};

// ANCHOR: hogs
async fn work_on(_event_loop: EventLoop, name: char) {
    for _ in 0..4 {
        print!(" {name}");
    }
}

/// An `.await` is a place where a coroutine may be suspended. If the future has
/// its result already, there is nothing to wait for, and it is not suspended.
async fn await_what_is_there(event_loop: EventLoop, name: char) {
    for _ in 0..4 {
        print!(" {name}");
        let future = Future::new(&event_loop);
        // Not refused: it is new.
        let _ = future.set_result(());
        let _ = future.await;
    }
}

async fn give_way(event_loop: EventLoop, name: char) {
    for _ in 0..4 {
        print!(" {name}");
        yield_now(&event_loop).await;
    }
}
// ANCHOR_END: hogs

/// Runs the same function in three tasks, which print their order.
fn run<C>(title: &str, function: fn(EventLoop, char) -> C) -> io::Result<()>
where
    C: stage2_coroutines::Coroutine<Output = ()> + 'static,
{
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();
    print!("{title:<20}");
    let spawn = |name| Task::spawn(event_loop, function(event_loop.clone(), name));
    let tasks = ['a', 'b', 'c'].map(spawn);
    let all = wait(event_loop, tasks, ReturnWhen::AllCompleted, None);
    drop(runtime.run_until_complete(all)?);
    println!();
    Ok(())
}

fn main() -> io::Result<()> {
    run("work_on", work_on)?;
    run("await_what_is_there", await_what_is_there)?;
    run("give_way", give_way)
}
