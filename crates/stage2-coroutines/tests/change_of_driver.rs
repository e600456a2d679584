//! Whoever resumes a coroutine last is the one to be woken, even if somebody
//! else began it.
#![allow(clippy::unwrap_used, missing_docs)]

use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use selector_core::VirtualTime;
use stage2_coroutines::{Coroutine, EventLoop, Future, connect, sleep, within, yield_now};
use transport::{Layer, system_look_up};

/// In virtual time, a loop that waits for something that never comes says so.
fn virtual_loop() -> EventLoop {
    EventLoop::in_world(VirtualTime::new(), Arc::new(system_look_up))
}

/// Begun by one who cannot be woken, then given to the loop.
fn begin_and_hand_over<T>(event_loop: &EventLoop, coroutine: impl Coroutine<Output = T>) -> T {
    let mut coroutine = pin!(coroutine);
    let mut nobody = Context::from_waker(Waker::noop());
    assert!(coroutine.as_mut().poll(&mut nobody).is_pending());
    event_loop.run_until_complete(coroutine).unwrap()
}

#[test]
fn in_its_sleep() {
    let event_loop = virtual_loop();
    begin_and_hand_over(&event_loop, sleep(&event_loop, Duration::from_secs(1)));
    assert_eq!(event_loop.pending_timers(), 0);
}

#[test]
fn within_a_deadline() {
    let event_loop = virtual_loop();
    let deadline = event_loop.now() + Duration::from_secs(1);
    let never = std::future::pending::<()>();
    assert!(begin_and_hand_over(&event_loop, within(&event_loop, || deadline, never)).is_err());
}

#[test]
fn awaiting_a_future() {
    let event_loop = virtual_loop();
    let future = Future::new(&event_loop);
    let resolver = future.clone();
    event_loop.call_later(Duration::from_secs(1), move || resolver.set_result(7).unwrap());
    assert_eq!(begin_and_hand_over(&event_loop, future).unwrap(), 7);
}

#[test]
fn after_a_bare_yield() {
    let event_loop = virtual_loop();
    begin_and_hand_over(&event_loop, yield_now(&event_loop));
}

#[test]
fn while_it_connects() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let event_loop = EventLoop::new().unwrap();
    let layer = Layer::plain();
    let connecting = connect(&event_loop, listener.local_addr().unwrap(), layer);
    let limit = event_loop.now() + Duration::from_secs(5);
    let connection = begin_and_hand_over(&event_loop, within(&event_loop, || limit, connecting));
    assert!(connection.unwrap().is_ok());
}
