//! `join`, `select` and a stream by hand, and the two mistakes that are easily made
//! with `select`.
//!
//! `cargo run -p stage2-coroutines --example join_select_stream`
#![allow(clippy::print_stdout)]

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use stage2_coroutines::{
    Coroutine, EventLoop, sleep, sleep_and_return, virtual_runtime, yield_now,
};

const SECOND: Duration = Duration::from_secs(1);

// ANCHOR: join
/// Waits for two coroutines, and returns both values.
async fn join<A: Coroutine, B: Coroutine>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut a_value, mut b_value) = (None, None);
    poll_fn(|context| {
        // A coroutine that has returned must not be polled again.
        if a_value.is_none()
            && let Poll::Ready(value) = a.as_mut().poll(context)
        {
            a_value = Some(value);
        }
        if b_value.is_none()
            && let Poll::Ready(value) = b.as_mut().poll(context)
        {
            b_value = Some(value);
        }
        let is_done = a_value.is_some() && b_value.is_some();
        if is_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    a_value.zip(b_value).expect("both have returned")
}
// ANCHOR_END: join

// ANCHOR: select
enum First<A, B> {
    Left(A),
    Right(B),
}

/// Waits for the first of two coroutines, and drops the other.
async fn select<A: Coroutine, B: Coroutine>(a: A, b: B) -> First<A::Output, B::Output> {
    let (mut a, mut b) = (pin!(a), pin!(b));
    poll_fn(|context| {
        if let Poll::Ready(value) = a.as_mut().poll(context) {
            return Poll::Ready(First::Left(value));
        }
        b.as_mut().poll(context).map(First::Right)
    })
    .await
}
// ANCHOR_END: select

// ANCHOR: stream
/// The next value, if it is there already; `None` at the end.
type Next<T> = Poll<Option<T>>;

/// Values that come one after the other.
trait Stream {
    type Item;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Next<Self::Item>;
}

/// Waits for the next value of a stream.
async fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await
}
// ANCHOR_END: stream

// ANCHOR: ticks
/// A stream of the numbers from 1 to `last`, one each second.
struct Ticks {
    event_loop: EventLoop,
    last: u32,
    number: u32,
    pause: Pin<Box<dyn Coroutine<Output = ()>>>,
}

impl Ticks {
    fn new(event_loop: &EventLoop, last: u32) -> Self {
        let pause = pause(event_loop);
        Self { event_loop: event_loop.clone(), last, number: 0, pause }
    }
}

fn pause(event_loop: &EventLoop) -> Pin<Box<dyn Coroutine<Output = ()>>> {
    let event_loop = event_loop.clone();
    Box::pin(async move { sleep(&event_loop, SECOND).await })
}

impl Stream for Ticks {
    type Item = u32;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Next<u32> {
        if self.number == self.last {
            return Poll::Ready(None);
        }
        if self.pause.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.number += 1;
        self.pause = pause(&self.event_loop);
        Poll::Ready(Some(self.number))
    }
}
// ANCHOR_END: ticks

// ANCHOR: starved
/// Counts messages until it is told to stop. Another message is always there.
async fn count_until_stopped(event_loop: &EventLoop, is_fair: bool) -> u32 {
    let mut stop = pin!(sleep(event_loop, Duration::ZERO));
    for count in 0..1000 {
        let message = async {};
        // Fair: the two take turns at being the first.
        let is_stopped = if is_fair && count % 2 == 1 {
            matches!(select(stop.as_mut(), message).await, First::Left(()))
        } else {
            matches!(select(message, stop.as_mut()).await, First::Right(()))
        };
        if is_stopped {
            return count;
        }
        yield_now(event_loop).await;
    }
    1000
}
// ANCHOR_END: starved

// ANCHOR: pair
/// Waits for two values of a stream.
async fn pair(ticks: &mut Ticks) -> Option<(u32, u32)> {
    let first = next(ticks).await?;
    let second = next(ticks).await?;
    Some((first, second))
}
// ANCHOR_END: pair

// ANCHOR: lost
/// Reads pairs, and says so each second and a half in which none has come.
async fn lossy(event_loop: &EventLoop) {
    let mut ticks = Ticks::new(event_loop, 6);
    loop {
        // Each turn begins with a new `pair`.
        match select(pair(&mut ticks), sleep(event_loop, SECOND * 3 / 2)).await {
            First::Left(Some(pair)) => println!("  {pair:?}"),
            First::Left(None) => return,
            First::Right(()) => println!("  still waiting"),
        }
    }
}
// ANCHOR_END: lost

// ANCHOR: kept
async fn kept(event_loop: &EventLoop) {
    let mut ticks = Ticks::new(event_loop, 6);
    loop {
        // A turn that waits in vain goes on with the same `pair`.
        let mut pair = pin!(pair(&mut ticks));
        let pair = loop {
            match select(pair.as_mut(), sleep(event_loop, SECOND * 3 / 2)).await {
                First::Left(pair) => break pair,
                First::Right(()) => println!("  still waiting"),
            }
        };
        let Some(pair) = pair else { return };
        println!("  {pair:?}");
    }
}
// ANCHOR_END: kept

async fn program(event_loop: &EventLoop) {
    let start = event_loop.now();
    let slow = sleep_and_return(event_loop, SECOND * 2, "slow");
    let fast = sleep_and_return(event_loop, SECOND, "fast");
    let both = join(slow, fast).await;
    println!("join: {both:?} after {:?}", event_loop.now() - start);

    let start = event_loop.now();
    let slow = sleep_and_return(event_loop, SECOND * 2, "slow");
    let fast = sleep_and_return(event_loop, SECOND, "fast");
    let (First::Left(first) | First::Right(first)) = select(slow, fast).await;
    println!("select: {first:?} after {:?}", event_loop.now() - start);

    let mut ticks = Ticks::new(event_loop, 3);
    let mut sum = 0;
    while let Some(number) = next(&mut ticks).await {
        sum += number;
    }
    println!("the sum of the stream: {sum}");

    println!("told to stop, unfair: after {}", count_until_stopped(event_loop, false).await);
    println!("told to stop, fair: after {}", count_until_stopped(event_loop, true).await);

    println!("a new pair in each turn:");
    lossy(event_loop).await;
    println!("the same pair until it is there:");
    kept(event_loop).await;
}

fn main() -> io::Result<()> {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();
    runtime.run_until_complete(program(event_loop))
}
