//! A future with two waiters, a combinator and a task. The combinator has a waker of its own,
//! which asks the future whether it is done.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use asyncio::prelude::*;
use stage2_coroutines::{Coroutine, Future, InspectTask, Task, Wait, leaf, system_runtime};

thread_local! {
    /// The future, for the waker: a waker may go to other threads, and cannot hold it.
    static RESULT: RefCell<Option<Future<u32>>> = const { RefCell::new(None) };
}

/// The waker of the combinator.
struct Curious(Waker);

impl Wake for Curious {
    fn wake(self: Arc<Self>) {
        let result = RESULT.with_borrow(Clone::clone);
        println!("waker: done is {}", result.is_some_and(|future| future.done()));
        self.0.wake_by_ref();
    }
}

/// Awaits the future, with a waker that is curious if this is wanted.
fn wait_for(result: &Future<u32>, name: &str, is_curious: bool) -> Task<u32> {
    let event_loop = result.event_loop().clone();
    // Both get a copy of the result.
    let mut shared = result.clone().shared();
    let wait = leaf(&event_loop, Wait::Future, move |context| {
        let mut waker = context.waker().clone();
        if is_curious {
            waker = Waker::from(Arc::new(Curious(waker)));
        }
        Pin::new(&mut shared).poll(&mut Context::from_waker(&waker))
    });
    Task::spawn_with(&event_loop, wait, |outcome| outcome).named(name)
}

pub(crate) fn run() -> crate::Outcome {
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop().clone();
    let result = Future::new(&event_loop);
    RESULT.set(Some(result.clone()));
    let _first = wait_for(&result, "first", true);
    let second = wait_for(&result, "second", false);
    let setter = Task::spawn(&event_loop, async move { result.set_result(42) });
    let all = async {
        match setter.named("setter").await {
            Ok(_) => println!("setter: has set the result"),
            Err(exception) => println!("setter: {exception}"),
        }
        second.await
    };
    let value = runtime.run_until_complete(all)??;
    println!("second: {value}");
    Ok(true)
}
