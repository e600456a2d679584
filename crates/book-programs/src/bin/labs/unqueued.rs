//! Two tasks that sleep.

use std::time::Duration;

use stage2_coroutines::{InspectTask, Task, sleep, system_runtime};

pub(crate) fn run() -> crate::Outcome {
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop().clone();
    let sleeper = |name: &str| {
        let (inside, name) = (event_loop.clone(), name.to_owned());
        let sleeper = {
            let name = name.clone();
            async move {
                sleep(&inside, Duration::from_millis(100)).await;
                println!("{name} is awake");
            }
        };
        Task::spawn(&event_loop, sleeper).named(name)
    };
    let (one, other) = (sleeper("one"), sleeper("other"));
    let both = async {
        one.await?;
        other.await
    };
    crate::run_watched(&runtime, both)??;
    Ok(true)
}
