//! Two tasks that are always ready, until a timer tells them to end.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use stage2_coroutines::{InspectTask, Task, sleep, system_runtime, yield_now};

pub(crate) fn run() -> crate::Outcome {
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop().clone();
    let is_over = Rc::new(Cell::new(false));
    for name in ["ping", "pong"] {
        let (inside, is_over) = (event_loop.clone(), Rc::clone(&is_over));
        let spin = async move {
            while !is_over.get() {
                yield_now(&inside).await;
            }
        };
        let _spinner = Task::spawn(&event_loop, spin).named(name);
    }
    let inside = event_loop.clone();
    let timer = Task::spawn(&event_loop, async move {
        sleep(&inside, Duration::from_millis(100)).await;
        is_over.set(true);
    });
    crate::run_watched(&runtime, timer.named("timer"))??;
    println!("the timer has fired");
    Ok(true)
}
