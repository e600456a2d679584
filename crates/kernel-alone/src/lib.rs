//! The runtime of stage 2 by itself. This package takes the files of the folder
//! `runtime` and has one dependency, so it compiles only as long as the runtime stands on
//! `selector-core` alone: without HTTP, inspection, tracing or asyncio's interface.

#[path = "../../stage2-coroutines/src/runtime/mod.rs"]
#[allow(missing_docs)] // They are stage 2's.
pub mod runtime;

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::poll_fn;
    use std::rc::Rc;
    use std::task::Poll;
    use std::time::{Duration, Instant};

    use crate::runtime::event_loop::{EventLoop, Runtime};
    use crate::runtime::future::Future;
    use crate::runtime::task::Task;
    use selector_core::OsBackend;

    /// A timer in four lines, as `sleep` of stage 2 is one in a few more.
    async fn wait_until(event_loop: EventLoop, at: Instant) {
        let mut timer = None;
        poll_fn(|context| {
            timer
                .get_or_insert_with(|| event_loop.reactor().set_timer(at, context.waker().clone()));
            if event_loop.now() < at { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }

    #[test]
    fn a_main_coroutine_two_tasks_and_a_timer() {
        let runtime = Runtime::with(OsBackend::new().expect("a selector"), ());
        let event_loop = runtime.event_loop();
        let log = Rc::new(RefCell::new(Vec::new()));
        let gate = Future::new(event_loop);

        let waiting = {
            let (log, gate) = (Rc::clone(&log), gate.clone());
            Task::spawn(event_loop, async move {
                let value: u32 = gate.await.expect("the other task sets the result");
                log.borrow_mut().push("got the result");
                value + 1
            })
        };
        let timer = {
            let (log, event_loop) = (Rc::clone(&log), event_loop.clone());
            Task::spawn(&event_loop.clone(), async move {
                wait_until(event_loop.clone(), event_loop.now() + Duration::from_millis(5)).await;
                log.borrow_mut().push("the timer has fired");
                gate.set_result(41).expect("nobody else resolves it");
            })
        };
        let result = runtime.run_until_complete(async {
            log.borrow_mut().push("the main coroutine waits");
            timer.await?;
            waiting.await
        });
        assert_eq!(result.expect("the selector works").expect("no task was cancelled"), 42);
        let expected = ["the main coroutine waits", "the timer has fired", "got the result"];
        assert_eq!(*log.borrow(), expected);
    }
}
