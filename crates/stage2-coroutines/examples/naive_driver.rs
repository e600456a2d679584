//! Who goes on with a coroutine, and when? A driver that resumes it over and
//! over is good for one that only yields. For one that waits for the world it
//! is either a waste or not enough: the event loop knows when, and it turns the
//! wheels that everybody waits for.
#![allow(clippy::print_stdout)]

use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use selector_core::VirtualTime;
use stage2_coroutines::{Coroutine, EventLoop, Future, connect, sleep, yield_now};
use transport::{Layer, system_look_up};

// ANCHOR: naive
/// Resumes a coroutine until it returns, or until the driver has lost patience.
/// Returns what it returned, if it did, and how often it was resumed.
fn naive<T>(coroutine: impl Coroutine<Output = T>) -> (Option<T>, u64) {
    let mut coroutine = pin!(coroutine);
    // It has to leave something with those it waits for. This wakes nobody.
    let mut context = Context::from_waker(Waker::noop());
    let begun = Instant::now();
    let mut polls = 0;
    loop {
        polls += 1;
        if let Poll::Ready(value) = coroutine.as_mut().poll(&mut context) {
            return (Some(value), polls);
        }
        if polls >= 1000 && begun.elapsed() >= PATIENCE {
            return (None, polls);
        }
    }
}

/// Several times as long as anything here takes.
const PATIENCE: Duration = Duration::from_millis(100);
// ANCHOR_END: naive

// ANCHOR: slow_operation
/// Waits for a second and then resolves a future.
async fn slow_operation(event_loop: EventLoop, done: Future<&'static str>) {
    sleep(&event_loop, Duration::from_secs(1)).await;
    resolve(&done, "a second is over");
}
// ANCHOR_END: slow_operation

fn main() -> io::Result<()> {
    table()?;
    twice_by_hand()?;
    cheat()
}

// ANCHOR: table
type Boxed<'l> = Pin<Box<dyn Coroutine<Output = ()> + 'l>>;

/// Has both drivers do the same things.
fn table() -> io::Result<()> {
    // A server that nobody need serve: the system takes the calls.
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;

    println!("{:<21} {:<30} the event loop", "", "the naive driver");
    line("yield three times", EventLoop::new, |event_loop| {
        Box::pin(yield_three_times(event_loop))
    })?;
    line("sleep for 20 ms", EventLoop::new, |event_loop| {
        Box::pin(sleep(event_loop, Duration::from_millis(20)))
    })?;
    // In virtual time the clock goes on when the loop waits, and only then.
    line("be called in a second", virtual_time, |event_loop| Box::pin(be_called(event_loop)))?;
    line("make a connection", EventLoop::new, |event_loop| Box::pin(dial(event_loop, address)))
}

fn line(
    what: &str,
    new_loop: impl Fn() -> io::Result<EventLoop>,
    coroutine: impl Fn(&EventLoop) -> Boxed<'_>,
) -> io::Result<()> {
    let event_loop = new_loop()?;
    let (value, polls) = naive(coroutine(&event_loop));
    let end = if value.is_some() { "done" } else { "given up" };
    let naive = format!("{} resumes, {end}", in_words(polls));

    let event_loop = new_loop()?;
    let mut coroutine = coroutine(&event_loop);
    let mut polls = 0;
    event_loop.run_until_complete(poll_fn(|context| {
        polls += 1;
        coroutine.as_mut().poll(context)
    }))?;
    println!("{what:<21} {naive:<30} {polls} resumes, done");
    Ok(())
}

/// Beyond a few it is a matter of how fast the machine is: millions a second.
fn in_words(polls: u64) -> String {
    if polls > 10 { "a great many".into() } else { polls.to_string() }
}
// ANCHOR_END: table

// ANCHOR: four_coroutines
async fn yield_three_times(event_loop: &EventLoop) {
    for _ in 0..3 {
        yield_now(event_loop).await;
    }
}

async fn be_called(event_loop: &EventLoop) {
    let called = Future::new(event_loop);
    let callback = called.clone();
    event_loop.call_later(Duration::from_secs(1), move || resolve(&callback, ()));
    // Nobody cancels it.
    let _ = called.await;
}

async fn dial(event_loop: &EventLoop, address: SocketAddr) {
    if let Err(error) = connect(event_loop, address, Layer::plain()).await {
        println!("no connection: {error}");
    }
}
// ANCHOR_END: four_coroutines

// ANCHOR: twice
/// A driver that thinks two steps must do: one up to the wait, one after it.
/// In Python the second step hits an assertion; here it is told once more that
/// the time has not come.
fn twice_by_hand() -> io::Result<()> {
    let event_loop = virtual_time()?;
    let done = Future::new(&event_loop);
    let mut coroutine = pin!(slow_operation(event_loop.clone(), done.clone()));
    let mut context = Context::from_waker(Waker::noop());
    println!("\nslow_operation, resumed twice:");
    println!("  {:?}", coroutine.as_mut().poll(&mut context));
    println!("  {:?}", coroutine.as_mut().poll(&mut context));
    println!("  its future is done: {}", done.done());

    println!("the same, on the loop:");
    let begun = event_loop.now();
    event_loop.run_until_complete(coroutine)?;
    println!("  {}, and {:?} have passed", text(&done), event_loop.now() - begun);
    Ok(())
}
// ANCHOR_END: twice

// ANCHOR: cheat
/// Whoever has a hand on the inner future can resolve it, and then two steps
/// do. But nobody has waited for anything.
fn cheat() -> io::Result<()> {
    let event_loop = virtual_time()?;
    let (inner, done) = (Future::new(&event_loop), Future::new(&event_loop));
    let (inner_handle, done_handle) = (inner.clone(), done.clone());
    let mut coroutine = pin!(async move {
        let _ = inner.await;
        resolve(&done, "a second is over");
    });
    let mut context = Context::from_waker(Waker::noop());
    let begun = event_loop.now();
    println!("\nthe same, the inner future resolved by hand:");
    println!("  {:?}", coroutine.as_mut().poll(&mut context));
    resolve(&inner_handle, ());
    println!("  {:?}", coroutine.as_mut().poll(&mut context));
    println!("  {}, but {:?} have passed", text(&done_handle), event_loop.now() - begun);
    Ok(())
}
// ANCHOR_END: cheat

/// A loop whose clock jumps to wherever somebody waits for.
fn virtual_time() -> io::Result<EventLoop> {
    Ok(EventLoop::in_world(VirtualTime::new(), Arc::new(system_look_up)))
}

fn resolve<T: 'static>(future: &Future<T>, value: T) {
    if let Err(error) = future.set_result(value) {
        println!("refused: {error}");
    }
}

fn text(future: &Future<&'static str>) -> String {
    future.result().map_or_else(|error| error.to_string(), ToString::to_string)
}
