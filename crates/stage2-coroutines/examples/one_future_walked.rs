//! The calls around one future, from its first `.await` to its result.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use asyncio::prelude::*;
use stage2_coroutines::{Coroutine, Exception, Future, Inspect, Task, virtual_runtime};

// ANCHOR: watched
/// A wrapper that polls a future, and prints each call.
struct Watched(Future<&'static str>);

impl Coroutine for Watched {
    type Output = Result<&'static str, Exception>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        println!("    the future is polled");
        let loud = Waker::from(Arc::new(Loud(context.waker().clone())));
        let poll = Pin::new(&mut self.0).poll(&mut Context::from_waker(&loud));
        println!("    it says {poll:?}");
        poll
    }
}

/// A waker that calls another one, and prints each call.
struct Loud(Waker);

impl Wake for Loud {
    fn wake(self: Arc<Self>) {
        println!("    the waker is called");
        self.0.wake_by_ref();
    }
}
// ANCHOR_END: watched

// ANCHOR: main
fn main() -> Result<(), Box<dyn Error>> {
    // In virtual time: the second costs nothing.
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();

    let future = Future::new(event_loop);
    let awaited = Watched(future.clone());
    let task = Task::spawn(event_loop, async move {
        println!("task: awaits the future");
        let result = awaited.await;
        println!("task: goes on, with {result:?}");
    });
    event_loop.call_later(Duration::from_secs(1), move || {
        println!("callback: resolves the future");
        let resolved = future.set_result("news");
        println!("callback: done with that: {resolved:?}");
    });
    println!("main: runs the loop");
    runtime.run_until_complete(task)??;
    println!("main: {} steps were taken", event_loop.stats().polls);
    Ok(())
}
// ANCHOR_END: main
