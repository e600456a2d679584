//! The chapter's Task: the driver of a generator. Each step sends the result of
//! the last future into the generator, and adds itself as a callback to the
//! future that the generator yields next. `throw` cancels, and a generator may
//! deny that.
//!
//! `cargo run -p stage2-coroutines --example chapter_task`
#![allow(clippy::print_stdout)] // An example may print.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use asyncio::prelude::*;
use stage2_coroutines::generator::{AsyncGenerator, Channel, CoroutineState, Generator};
use stage2_coroutines::{EventLoop, Future, sleep, virtual_runtime};

// ANCHOR: task
type Coroutine = Box<dyn Generator<Input = u32, Yield = Future<Option<u32>>, Return = ()>>;

/// The driver of one generator.
struct Task {
    coro: RefCell<Coroutine>,
    waits_for: RefCell<Future<Option<u32>>>,
}

impl Task {
    /// Takes the first step, with a future that is done already.
    fn new(coro: Coroutine, event_loop: &EventLoop) -> Rc<Self> {
        let future = Future::new(event_loop);
        future.set_result(None).expect("a new future is pending");
        let task = Rc::new(Self { coro: coro.into(), waits_for: future.clone().into() });
        task.step(&future);
        task
    }

    // ANCHOR: step
    /// Runs the generator to its next `yield`.
    fn step(self: &Rc<Self>, future: &Future<Option<u32>>) {
        let resumed = match future.result() {
            Ok(value) => self.coro.borrow_mut().resume(value),
            Err(error) => self.coro.borrow_mut().throw(error.into()),
        };
        match resumed {
            Ok(CoroutineState::Yielded(next_future)) => {
                let task = Rc::clone(self);
                next_future.add_done_callback(move |future| task.step(future));
                self.waits_for.replace(next_future);
            }
            Ok(CoroutineState::Complete(_)) => println!("  the generator has returned"),
            Err(error) => println!("  the generator has ended with: {error}"),
        }
    }
    // ANCHOR_END: step

    /// Cancels the future, so that the next step throws its error.
    fn cancel(&self) {
        self.waits_for.borrow().cancel();
    }
}
// ANCHOR_END: task

// ANCHOR: countdown
/// Returns a generator that yields a timer for each number from 3 down to 1. If
/// it denies cancellation, it stays at its number instead and waits again.
fn countdown(event_loop: EventLoop, denies: bool) -> Coroutine {
    Box::new(AsyncGenerator::new(async move |channel: Channel<_, _>| {
        let mut n = 3;
        while n > 0 {
            println!("  {n}");
            // In Python: `n = yield timer(n - 1)`.
            n = match channel.give(timer(&event_loop, n - 1)).await {
                Ok(sent) => sent.unwrap_or_default(),
                Err(_) if denies => n,
                Err(error) => return Err(error),
            };
        }
        Ok(())
    }))
}

/// Returns a future whose result is `n`, one second from now.
fn timer(event_loop: &EventLoop, n: u32) -> Future<Option<u32>> {
    let timer = Future::new(event_loop);
    let fired = timer.clone();
    // A future that was cancelled in the meantime has no use for a result.
    let fire = move || fired.set_result(Some(n)).unwrap_or(());
    event_loop.call_later(Duration::from_secs(1), fire);
    timer
}
// ANCHOR_END: countdown

fn main() -> io::Result<()> {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();
    let run = || runtime.run_until_complete(sleep(event_loop, Duration::from_secs(9)));
    let task = |denies| Task::new(countdown(event_loop.clone(), denies), event_loop);
    println!("to its end:");
    task(false);
    run()?;
    println!("cancelled:");
    task(false).cancel();
    run()?;
    println!("cancelled, and denied:");
    task(true).cancel();
    run()
}
