//! Five tasks that each take a fifth of a second, all at the same time, and a clock
//! that should tick meanwhile.

use std::time::Duration;

use asyncio::prelude::*;
use stage2_coroutines::{EventLoop, Inspect, InspectTask, Task, sleep, system_runtime};

const WORK: Duration = Duration::from_millis(200);
const TICK: Duration = Duration::from_millis(20);
/// The longest time between two ticks that is well; a machine may be busy.
const LONGEST: Duration = Duration::from_millis(600);

async fn work(event_loop: EventLoop) {
    sleep(&event_loop, WORK).await;
}

/// Ticks until it is cancelled, and prints each tick that comes late.
async fn tick(event_loop: EventLoop) {
    loop {
        let before = event_loop.now();
        sleep(&event_loop, TICK).await;
        let took = event_loop.now() - before;
        if took > LONGEST {
            println!("clock: a tick of 20 ms took {} ms", took.as_millis());
            crate::end(1);
        }
    }
}

pub(crate) fn run() -> crate::Outcome {
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop().clone();
    let _clock = Task::spawn(&event_loop, tick(event_loop.clone())).named("clock");
    let worker =
        |n| Task::spawn(&event_loop, work(event_loop.clone())).named(format!("worker {n}"));
    let workers: [_; 5] = std::array::from_fn(worker);
    let remote = event_loop.remote();
    let asked = event_loop.now() + WORK / 2;
    std::thread::spawn(move || {
        std::thread::sleep(WORK / 2);
        remote.call_soon(move |event_loop| {
            let late = event_loop.now().saturating_duration_since(asked);
            print!("Asked after 100 ms, answered {} ms later: ", late.as_millis());
            print!("{}", event_loop.describe_tasks());
        });
    });
    let all = async {
        for worker in workers {
            worker.await?;
        }
        sleep(&event_loop, TICK).await;
        Ok::<_, stage2_coroutines::Exception>(())
    };
    runtime.run_until_complete(all)??;
    Ok(true)
}
