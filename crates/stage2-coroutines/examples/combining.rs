//! The combinators: every way to wait for several tasks at once. Each time the
//! same three tasks begin together: A takes one second, B three, C two.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::Duration;

use asyncio::prelude::*;
use asyncio::{ReturnWhen, as_completed, gather, gather_outcomes, shield, wait, wait_for};
use stage2_coroutines::{EventLoop, Exception, Future, Task, sleep, virtual_runtime};

const SECOND: Duration = Duration::from_secs(1);

// ANCHOR: tasks
type Name = &'static str;

fn task(event_loop: &EventLoop, name: Name, seconds: u32) -> Task<Name> {
    let inside = event_loop.clone();
    Task::spawn(event_loop, async move {
        sleep(&inside, SECOND * seconds).await;
        name
    })
}

fn three(event_loop: &EventLoop) -> [Task<Name>; 3] {
    let named = [("A", 1), ("B", 3), ("C", 2)];
    named.map(|(name, seconds)| task(event_loop, name, seconds))
}
// ANCHOR_END: tasks

// ANCHOR: gather
async fn gathered(event_loop: &EventLoop) -> Result<(), Exception> {
    let clock = Clock::new(event_loop, "gather");
    clock.says(gather(event_loop, three(event_loop)).await?);

    let clock = Clock::new(event_loop, "gather, and C is cancelled");
    let tasks = three(event_loop);
    tasks[2].cancel();
    clock.says(gather(event_loop, tasks).await);

    let clock = Clock::new(event_loop, "gather_outcomes, and C is cancelled");
    let tasks = three(event_loop);
    tasks[2].cancel();
    clock.says(gather_outcomes(event_loop, tasks).await?);
    Ok(())
}
// ANCHOR_END: gather

// ANCHOR: wait
async fn waited(event_loop: &EventLoop) -> Result<(), Exception> {
    let clock = Clock::new(event_loop, "wait, FirstCompleted");
    let first = ReturnWhen::FirstCompleted;
    let (done, pending) = wait(event_loop, three(event_loop), first, None).await;
    clock.says(format!("{} done, {} pending", done.len(), pending.len()));

    let clock = Clock::new(event_loop, "wait, AllCompleted, two and a half seconds");
    let (all, timeout) = (ReturnWhen::AllCompleted, Some(SECOND * 5 / 2));
    let (done, pending) = wait(event_loop, three(event_loop), all, timeout).await;
    clock.says(format!("{} done, {} pending", done.len(), pending.len()));

    let clock = Clock::new(event_loop, "as_completed");
    let mut completed = as_completed(event_loop, three(event_loop), None);
    while let Some(outcome) = completed.next().await {
        clock.says(outcome?);
    }
    Ok(())
}
// ANCHOR_END: wait

// ANCHOR: shield
async fn limited(event_loop: &EventLoop) -> Result<(), Exception> {
    let clock = Clock::new(event_loop, "wait_for B, two seconds");
    let b: Future<Name> = task(event_loop, "B", 3).into();
    clock.says(wait_for(event_loop, b.clone(), SECOND * 2).await);
    clock.says(format!("B is cancelled: {}", b.cancelled()));

    let clock = Clock::new(event_loop, "wait_for a shield of B, two seconds");
    let b: Future<Name> = task(event_loop, "B", 3).into();
    clock.says(wait_for(event_loop, shield(event_loop, b.clone()), SECOND * 2).await);
    clock.says(format!("B is cancelled: {}", b.cancelled()));
    clock.says(b.await?);
    Ok(())
}
// ANCHOR_END: shield

/// A clock that prints results with the time they took.
struct Clock<'l> {
    event_loop: &'l EventLoop,
    start: std::time::Instant,
}

impl<'l> Clock<'l> {
    fn new(event_loop: &'l EventLoop, title: &str) -> Self {
        println!("{title}:");
        Self { event_loop, start: event_loop.now() }
    }

    fn says(&self, result: impl std::fmt::Debug) {
        println!("  after {:?}: {result:?}", self.event_loop.now() - self.start);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // In virtual time: the seconds cost nothing.
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();
    runtime.run_until_complete(gathered(event_loop))??;
    runtime.run_until_complete(waited(event_loop))??;
    runtime.run_until_complete(limited(event_loop))??;
    drop(runtime);
    Ok(())
}
