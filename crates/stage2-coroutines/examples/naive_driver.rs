//! A naive driver of coroutines, compared with the event loop. Resuming a
//! coroutine over and over works for one that only yields. For one that waits
//! for an event it wastes time or never ends: only the event loop knows when to
//! resume it, and only the event loop runs the timers and sockets it waits for.
#![allow(clippy::print_stdout)]

use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use asyncio::prelude::*;
use stage2_coroutines::{
    Coroutine, EventLoop, Future, Runtime, connect, sleep, system_runtime, virtual_runtime,
    yield_now,
};
use transport::TlsLayer;

// ANCHOR: naive
/// Resumes a coroutine until it returns, or until the time limit has passed.
/// Returns the value, if there is one, and the number of polls.
fn naive<T>(coroutine: impl Coroutine<Output = T>) -> (Option<T>, u64) {
    let mut coroutine = pin!(coroutine);
    // Every poll needs a waker for the coroutine to store. This one does nothing.
    let mut context = Context::from_waker(Waker::noop());
    let start = Instant::now();
    let mut polls = 0;
    loop {
        polls += 1;
        if let Poll::Ready(value) = coroutine.as_mut().poll(&mut context) {
            return (Some(value), polls);
        }
        if polls >= 1000 && start.elapsed() >= TIME_LIMIT {
            return (None, polls);
        }
    }
}

/// The time after which the driver gives up: several times as long as anything
/// here takes.
const TIME_LIMIT: Duration = Duration::from_millis(100);
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

/// Runs the same coroutines with both drivers.
fn table() -> io::Result<()> {
    // No accept is needed: the operating system completes the connection.
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;

    println!("{:<21} {:<30} the event loop", "", "the naive driver");
    line("yield three times", system_runtime, |event_loop| {
        Box::pin(yield_three_times(event_loop))
    })?;
    line("sleep for 20 ms", system_runtime, |event_loop| {
        Box::pin(sleep(event_loop, Duration::from_millis(20)))
    })?;
    // The virtual clock advances only when the loop waits.
    let in_virtual_time = || Ok(virtual_runtime());
    line("be called in a second", in_virtual_time, |event_loop| Box::pin(be_called(event_loop)))?;
    line("make a connection", system_runtime, |event_loop| Box::pin(dial(event_loop, address)))
}

fn line(
    what: &str,
    new_loop: impl Fn() -> io::Result<Runtime>,
    coroutine: impl Fn(&EventLoop) -> Boxed<'_>,
) -> io::Result<()> {
    let runtime = new_loop()?;
    let (value, polls) = naive(coroutine(runtime.event_loop()));
    let end = if value.is_some() { "done" } else { "given up" };
    let naive = format!("{} resumes, {end}", in_words(polls));

    let runtime = new_loop()?;
    let mut coroutine = coroutine(runtime.event_loop());
    let mut polls = 0;
    runtime.run_until_complete(poll_fn(|context| {
        polls += 1;
        coroutine.as_mut().poll(context)
    }))?;
    println!("{what:<21} {naive:<30} {polls} resumes, done");
    Ok(())
}

/// Returns a small number as it is. A large one depends on the speed of the
/// machine, which polls millions of times a second.
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
    // It is never cancelled.
    let _ = called.await;
}

async fn dial(event_loop: &EventLoop, address: SocketAddr) {
    if let Err(error) = connect(event_loop, address, TlsLayer::plain()).await {
        println!("no connection: {error}");
    }
}
// ANCHOR_END: four_coroutines

// ANCHOR: twice
/// Resumes a coroutine just twice: one step up to the wait, one after it. In
/// Python the second step hits an assertion. Here it returns `Pending` once
/// more.
fn twice_by_hand() -> io::Result<()> {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();
    let done = Future::new(event_loop);
    let mut coroutine = pin!(slow_operation(event_loop.clone(), done.clone()));
    let mut context = Context::from_waker(Waker::noop());
    println!("\nslow_operation, resumed twice:");
    println!("  {:?}", coroutine.as_mut().poll(&mut context));
    println!("  {:?}", coroutine.as_mut().poll(&mut context));
    println!("  its future is done: {}", done.done());

    println!("the same, on the loop:");
    let begun = event_loop.now();
    runtime.run_until_complete(coroutine)?;
    println!("  {}, and {:?} have passed", text(&done), event_loop.now() - begun);
    Ok(())
}
// ANCHOR_END: twice

// ANCHOR: cheat
/// Resolves the inner future by hand, so that two steps are enough. But the
/// second has not passed.
fn cheat() -> io::Result<()> {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();
    let (inner, done) = (Future::new(event_loop), Future::new(event_loop));
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

fn resolve<T: 'static>(future: &Future<T>, value: T) {
    if let Err(error) = future.set_result(value) {
        println!("refused: {error}");
    }
}

fn text(future: &Future<&'static str>) -> String {
    future.result().map_or_else(|error| error.to_string(), ToString::to_string)
}
