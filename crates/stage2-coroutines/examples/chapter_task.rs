//! The chapter's Task: a generator driven by `step`. Each step sends the result
//! of the last future into the generator, and asks the future that it yields to
//! call `step` again. `throw` cancels, and a generator may deny that.
//!
//! `cargo run -p stage2-coroutines --example chapter_task`
#![allow(clippy::print_stdout)] // An example may print.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use stage2_coroutines::generator::{CoroutineState, Generator, Resumed, Sent};
use stage2_coroutines::{CallbackId, EventLoop, Future, sleep};

// ANCHOR: task
type Coroutine = Box<dyn Generator<Input = u32, Yield = Future<u32>, Return = ()>>;

/// The driver of one generator.
struct Task {
    coroutine: RefCell<Coroutine>,
    /// The future that it waits for, and the callback that steps it again.
    waiting: RefCell<Option<(Future<u32>, CallbackId)>>,
}

impl Task {
    fn new(coroutine: Coroutine) -> Rc<Self> {
        let task = Rc::new(Self { coroutine: coroutine.into(), waiting: RefCell::new(None) });
        task.step(Ok(None));
        task
    }

    /// Runs the generator to its next `yield`.
    fn step(self: &Rc<Self>, sent: Sent<u32>) {
        let resumed = match sent {
            Ok(value) => self.coroutine.borrow_mut().resume(value),
            Err(error) => self.coroutine.borrow_mut().throw(error),
        };
        match resumed {
            Ok(CoroutineState::Yielded(future)) => {
                let task = Rc::clone(self);
                let step = move |future: &Future<u32>| task.step(Ok(future.result().ok()));
                let callback = future.add_done_callback(step);
                self.waiting.replace(Some((future, callback)));
            }
            Ok(CoroutineState::Complete(())) => println!("  the generator has returned"),
            Err(error) => println!("  the generator has ended with: {error}"),
        }
    }

    /// Raises `cancelled` where the generator is suspended.
    fn cancel(self: &Rc<Self>) {
        if let Some((future, callback)) = self.waiting.take() {
            future.remove_done_callback(callback);
        }
        self.step(Err("cancelled".into()));
    }
}
// ANCHOR_END: task

// ANCHOR: countdown
/// The generator `n = yield timer(n - 1)`, in a loop until `n` is 0.
struct Countdown {
    event_loop: EventLoop,
    /// The number of cancellations that it denies.
    denials: u32,
}

impl Generator for Countdown {
    type Input = u32;
    type Yield = Future<u32>;
    type Return = ();

    fn advance(&mut self, sent: Sent<u32>) -> Resumed<Future<u32>, ()> {
        let n = match sent {
            Ok(n) => n.unwrap_or(3),
            Err(error) if self.denials > 0 => {
                self.denials -= 1;
                println!("  {error}? not now");
                1
            }
            Err(error) => return Err(error),
        };
        println!("  {n}");
        if n == 0 {
            return Ok(CoroutineState::Complete(()));
        }
        let timer = Future::new(&self.event_loop);
        let fired = timer.clone();
        // A future that was given up in the meantime has no use for its result.
        let fire = move || fired.set_result(n - 1).unwrap_or(());
        self.event_loop.call_later(Duration::from_millis(10), fire);
        Ok(CoroutineState::Yielded(timer))
    }

    fn last_yield(&self) -> Option<i32> {
        None
    }
}
// ANCHOR_END: countdown

fn main() -> io::Result<()> {
    let event_loop = EventLoop::new()?;
    let run = || event_loop.run_until_complete(sleep(&event_loop, Duration::from_millis(60)));
    let task = |denials| Task::new(Box::new(Countdown { event_loop: event_loop.clone(), denials }));
    println!("to its end:");
    task(0);
    run()?;
    println!("cancelled:");
    task(0).cancel();
    println!("cancelled, and denied once:");
    task(1).cancel();
    run()
}
