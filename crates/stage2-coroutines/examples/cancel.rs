//! Cancellation: the code that still runs, the code that does not, and the data
//! that gets lost.
#![allow(clippy::print_stdout)]

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use stage2_coroutines::{EventLoop, Task, sleep, timeout_at, virtual_runtime};

const SECOND: Duration = Duration::from_secs(1);

// ANCHOR: worker
/// A local variable that prints the name of its owner when it is dropped.
struct Lamp(&'static str);

impl Drop for Lamp {
    fn drop(&mut self) {
        println!("    {} puts out the light", self.0);
    }
}

async fn work(event_loop: EventLoop, name: &'static str) {
    let _lamp = Lamp(name);
    println!("    {name} begins");
    sleep(&event_loop, 3 * SECOND).await;
    println!("    {name} is done");
}
// ANCHOR_END: worker

// ANCHOR: three_ways
async fn three_ways(event_loop: &EventLoop) {
    println!("a task is cancelled:");
    let task = Task::spawn(event_loop, work(event_loop.clone(), "the worker"));
    sleep(event_loop, SECOND).await;
    println!("  there was something to cancel: {}", task.cancel());
    println!("  what awaits it gets {:?}", task.await);

    println!("a coroutine that is not a task runs out of time:");
    let deadline = event_loop.now() + SECOND;
    let guest = work(event_loop.clone(), "the guest");
    let outcome = timeout_at(event_loop, || deadline, guest).await;
    println!("  what gave it the time gets {outcome:?}");

    println!("the handle of a task is dropped:");
    let task = Task::spawn(event_loop, work(event_loop.clone(), "the orphan"));
    sleep(event_loop, SECOND).await;
    drop(task);
    println!("  which changes nothing");
    sleep(event_loop, 3 * SECOND).await;
}
// ANCHOR_END: three_ways

// ANCHOR: careless
type Shelf = Rc<RefCell<Vec<&'static str>>>;

/// Between the two shelves, the parcel is only in this frame.
async fn careless(event_loop: EventLoop, from: Shelf, to: Shelf) {
    let parcel = from.borrow_mut().pop();
    sleep(&event_loop, 3 * SECOND).await;
    to.borrow_mut().extend(parcel);
}
// ANCHOR_END: careless

// ANCHOR: careful
async fn careful(event_loop: EventLoop, from: Shelf, to: Shelf) {
    let parcel = from.borrow_mut().pop();
    let mut carried = Carried { parcel, from };
    sleep(&event_loop, 3 * SECOND).await;
    to.borrow_mut().extend(carried.parcel.take());
}

/// A parcel on its way. If it is dropped before it arrives, it goes back.
struct Carried {
    parcel: Option<&'static str>,
    from: Shelf,
}

impl Drop for Carried {
    fn drop(&mut self) {
        self.from.borrow_mut().extend(self.parcel.take());
    }
}
// ANCHOR_END: careful

async fn carry(event_loop: &EventLoop) {
    let shelves = || -> (Shelf, Shelf) { (Rc::new(RefCell::new(vec!["a parcel"])), Rc::default()) };

    println!("cancelled on the way, careless:");
    let (from, to) = shelves();
    let task = Task::spawn(event_loop, careless(event_loop.clone(), from.clone(), to.clone()));
    sleep(event_loop, SECOND).await;
    task.cancel();
    println!("  from {:?}, to {:?}", from.borrow(), to.borrow());

    println!("cancelled on the way, careful:");
    let (from, to) = shelves();
    let task = Task::spawn(event_loop, careful(event_loop.clone(), from.clone(), to.clone()));
    sleep(event_loop, SECOND).await;
    task.cancel();
    println!("  from {:?}, to {:?}", from.borrow(), to.borrow());
}

// ANCHOR: waiters
async fn waiters(event_loop: &EventLoop) {
    println!("a task that awaits a coroutine is cancelled:");
    let part = work(event_loop.clone(), "the part");
    let waiter = async move {
        part.await;
        println!("    the waiter is done");
    };
    let waiter = Task::spawn(event_loop, waiter);
    sleep(event_loop, SECOND).await;
    waiter.cancel();

    println!("a task that awaits another task is cancelled:");
    let other = Task::spawn(event_loop, work(event_loop.clone(), "the other"));
    let waiter = async move {
        let _ = other.await;
        println!("    the waiter is done");
    };
    let waiter = Task::spawn(event_loop, waiter);
    sleep(event_loop, SECOND).await;
    waiter.cancel();
    sleep(event_loop, 3 * SECOND).await;
}
// ANCHOR_END: waiters

fn main() -> io::Result<()> {
    // In virtual time: the seconds cost nothing.
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();
    runtime.run_until_complete(three_ways(event_loop))?;
    runtime.run_until_complete(carry(event_loop))?;
    runtime.run_until_complete(waiters(event_loop))
}
