//! Change of driver: an operation wakes the driver that polled it last, even if
//! another driver polled it before.

use std::net::TcpListener;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use asyncio::prelude::*;
use stage2_coroutines::{
    Coroutine, Future, Inspect, Runtime, connect, sleep, system_runtime, timeout_at, yield_now,
};
use test_support::event_loops::virtual_loop;
use transport::TlsLayer;

/// Polls a coroutine once with a waker that does nothing, then runs it on the
/// loop. If that waker is kept, the loop waits forever, which is an error in
/// virtual time.
fn begin_and_hand_over<T>(runtime: &Runtime, coroutine: impl Coroutine<Output = T>) -> T {
    let mut coroutine = pin!(coroutine);
    let mut noop_context = Context::from_waker(Waker::noop());
    assert!(coroutine.as_mut().poll(&mut noop_context).is_pending());
    runtime.run_until_complete(coroutine).unwrap()
}

#[test]
fn a_sleep_wakes_the_last_driver() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    begin_and_hand_over(&runtime, sleep(&event_loop, Duration::from_secs(1)));
    assert_eq!(event_loop.pending_timers(), 0);
}

#[test]
fn a_timeout_wakes_the_last_driver() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let deadline = event_loop.now() + Duration::from_secs(1);
    let never = std::future::pending::<()>();
    assert!(begin_and_hand_over(&runtime, timeout_at(&event_loop, || deadline, never)).is_err());
}

#[test]
fn a_future_wakes_the_last_driver() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let future = Future::new(&event_loop);
    let resolver = future.clone();
    event_loop.call_later(Duration::from_secs(1), move || resolver.set_result(7).unwrap());
    assert_eq!(begin_and_hand_over(&runtime, future).unwrap(), 7);
}

#[test]
fn a_yield_wakes_the_last_driver() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    begin_and_hand_over(&runtime, yield_now(&event_loop));
}

#[test]
fn a_connection_attempt_wakes_the_last_driver() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let layer = TlsLayer::plain();
    let connecting = connect(&event_loop, listener.local_addr().unwrap(), layer);
    let limit = event_loop.now() + Duration::from_secs(5);
    let connection = begin_and_hand_over(&runtime, timeout_at(&event_loop, || limit, connecting));
    assert!(connection.unwrap().is_ok());
}
