//! The program that `.ci/old-against-new` builds with the runtime of an earlier commit. It
//! reads programs, one JSON object in each line of stdin, and writes their logs.

mod ours;
#[allow(dead_code, reason = "programs are drawn by the test")]
mod program;

use std::io;

/// The names of the runtime of that commit that the programs use: see `runtime.rs`.
mod runtime {
    pub(crate) use selector_core::Key;
    pub(crate) use stage2_coroutines::{
        CallbackId, Coroutine, EventLoop, EventLoop as Runtime, Exception, Future,
        Future as AnyFuture, Gather, Handle as CallbackHandle, LoopError, ReturnWhen, Task,
        as_completed, gather, gather_outcomes, shield, sleep, timeout_at, wait, wait_for,
    };
    pub(crate) use stage3_queue::{Item, JoinableQueue};

    pub(crate) fn virtual_runtime() -> Runtime {
        Runtime::in_virtual_time()
    }

    /// The reach of the programs is counted in this tree only, and this one cannot just look.
    pub(crate) fn has_exception(_: &Future<u64>) -> bool {
        false
    }

    pub(crate) fn close(runtime: Runtime) {
        runtime.close();
    }

    pub(crate) trait Owner {
        fn event_loop(&self) -> &EventLoop;
    }

    impl Owner for Runtime {
        fn event_loop(&self) -> &EventLoop {
            self
        }
    }

    pub(crate) trait AsFuture<T> {
        fn as_future(&self) -> &Future<T>;
    }

    impl<T: 'static> AsFuture<T> for Future<T> {
        fn as_future(&self) -> &Future<T> {
            self
        }
    }

    impl<T: 'static, R: 'static> AsFuture<R> for Gather<T, R> {
        fn as_future(&self) -> &Future<R> {
            self
        }
    }
}

fn main() -> io::Result<()> {
    for (number, line) in io::stdin().lines().enumerate() {
        println!("== {number}");
        for line in ours::run(&serde_json::from_str(&line?)?) {
            println!("{line}");
        }
    }
    Ok(())
}
