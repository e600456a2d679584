//! Three tasks and a timer that is due: the tasks yield, or they do not.

use std::time::Duration;

use asyncio::prelude::*;
use stage2_coroutines::{Task, sleep, yield_now};

use crate::scene::{Choices, Scene, failed, runtime_in_virtual_time};

const LANES: [&str; 4] = ["task a", "task b", "task c", "timer"];
const TIMER: usize = 3;

pub(crate) fn play(choices: &Choices<'_>) -> Result<Scene, String> {
    let yields = choices.among("tasks", &["hog", "yield"])? == 1;
    let scene = Scene::new(&LANES);
    let runtime = runtime_in_virtual_time();
    let event_loop = runtime.event_loop().clone();
    let says = scene.clone();
    event_loop.call_later(Duration::ZERO, move || says.add(TIMER, "fires"));
    scene.add(TIMER, "is due at once");
    let work = |lane: usize| {
        let (event_loop, scene) = (event_loop.clone(), scene.clone());
        async move {
            for part in ["first", "second", "third"] {
                scene.add(lane, format!("{part} part"));
                if yields {
                    yield_now(&event_loop).await;
                }
            }
        }
    };
    let tasks = [0, 1, 2].map(|lane| Task::spawn(&event_loop, work(lane)));
    let program = async {
        for task in tasks {
            drop(task.await);
        }
        // One more round, in which what is due may fire.
        sleep(&event_loop, Duration::from_millis(1)).await;
    };
    runtime.run_until_complete(program).map_err(failed)?;
    scene.end(if yields {
        "Each round, every task that is ready makes one step; then the loop looks at timers and sockets."
    } else {
        "A task that does not yield keeps the others and the timer waiting until it ends."
    });
    Ok(scene)
}
