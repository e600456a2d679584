//! One future, from its first `.await` to its result: all calls, in their order.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use asyncio::prelude::*;
use stage2_coroutines::{Coroutine, Exception, Future, Inspect, Task};

use crate::scene::{Choices, Scene, failed, runtime_in_virtual_time};

const LOOP: usize = 0;
const TASK: usize = 1;
const FUTURE: usize = 2;
const WAKER: usize = 3;

/// A future that tells of each poll.
struct Watched(Future<&'static str>, Scene);

impl Coroutine for Watched {
    type Output = Result<&'static str, Exception>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.1.add(FUTURE, "is polled");
        let tell = Tell { waker: context.waker().clone() };
        let loud = Waker::from(Arc::new(tell));
        let poll = Pin::new(&mut self.0).poll(&mut Context::from_waker(&loud));
        let text = match poll {
            Poll::Pending => "keeps the waker, and says Pending",
            Poll::Ready(_) => "says Ready, with the result",
        };
        self.1.add(FUTURE, text);
        poll
    }
}

thread_local! {
    /// The scene for wakers, which may go to other threads and cannot hold it.
    static SCENE: std::cell::RefCell<Option<Scene>> = const { std::cell::RefCell::new(None) };
}

/// A waker that tells of its call.
struct Tell {
    waker: Waker,
}

impl Wake for Tell {
    fn wake(self: Arc<Self>) {
        SCENE.with_borrow(|scene| {
            if let Some(scene) = scene {
                scene.add(WAKER, "is called: the task goes into the run queue");
            }
        });
        self.waker.wake_by_ref();
    }
}

pub(crate) fn play(_choices: &Choices<'_>) -> Result<Scene, String> {
    let scene = Scene::new(&["event loop", "task", "future", "waker"]);
    SCENE.set(Some(scene.clone()));
    let runtime = runtime_in_virtual_time();
    let event_loop = runtime.event_loop().clone();
    let future = Future::new(&event_loop);
    let awaited = Watched(future.clone(), scene.clone());
    let says = scene.clone();
    scene.add(LOOP, "polls the task, which is new");
    let task = Task::spawn(&event_loop, async move {
        says.add(TASK, "awaits the future");
        let result = awaited.await;
        says.add(TASK, format!("goes on, with {:?}", result.unwrap_or("an error")));
    });
    let says = scene.clone();
    event_loop.call_later(Duration::from_secs(1), move || {
        says.add(LOOP, "nothing is ready: sleeps until the timer, a second later");
        says.add(LOOP, "calls a callback, which resolves the future: set_result");
        // Not refused: it has no result yet.
        let _ = future.set_result("news");
        says.add(LOOP, "takes the task from the run queue, and polls it again");
    });
    let result = runtime.run_until_complete(task);
    SCENE.set(None);
    result.map_err(failed)?.map_err(failed)?;
    let steps = event_loop.stats().polls;
    scene.end(format!(
        "The loop has made {steps} steps; the task waited a second, and cost nothing."
    ));
    Ok(scene)
}
