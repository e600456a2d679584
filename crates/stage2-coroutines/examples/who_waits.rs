//! Structured inspection: at any time, a loop can tell what each of its tasks
//! waits for, where in the code, and since when.
#![allow(clippy::print_stdout)]

use std::io;
use std::time::Duration;

use stage2_coroutines::{Future, Inspect, InspectTask, Task, sleep, virtual_runtime};

// ANCHOR: main
fn main() -> io::Result<()> {
    // In virtual time: the seconds cost nothing.
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();
    let (one, other) = (event_loop.clone(), event_loop.clone());

    let sleeper = Task::spawn(event_loop, async move {
        sleep(&one, Duration::from_secs(60)).await;
    });
    let sleeper = sleeper.named("sleeper");
    let successor = Task::spawn(event_loop, async move {
        let _ = sleeper.await;
        sleep(&other, Duration::from_secs(1)).await;
    });
    let _successor = successor.named("successor");
    let never = Future::<()>::new(event_loop);
    let _forgotten = Task::spawn(event_loop, never).named("forgotten");

    runtime.run_until_complete(sleep(event_loop, Duration::from_secs(5)))?;
    event_loop.print_tasks(&mut io::stdout())?;
    drop(runtime);
    Ok(())
}
// ANCHOR_END: main
