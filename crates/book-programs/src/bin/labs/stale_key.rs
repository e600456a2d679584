//! Two events in one batch. The callback of the first closes the socket of the
//! second, and opens another one, which waits for an answer.

use std::net::TcpListener;
use std::panic::Location;

use selector_core::{Interest, Key, Selector};
use trace::Event;

/// Registers the callback of this name, and writes into the trace that it waits.
#[track_caller]
fn register(
    selector: &mut Selector<&'static str>,
    key: Key,
    interest: Interest,
    callback: &'static str,
) {
    let at = Some(Location::caller());
    let operation = if interest == Interest::Readable { "read" } else { "write" };
    trace::emit(|| Event::WakerStored { operation, at, key: Some(key.to_bits()) });
    selector.register(key, interest, callback);
}

pub(crate) fn run() -> crate::Outcome {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let mut selector = Selector::new()?;
    let (_first, first) = selector.connect(address)?;
    let (second_socket, second) = selector.connect(address)?;
    let mut keys = Vec::new();
    let is_writable =
        |selector: &Selector<_>, key| selector.readiness(key).satisfies(Interest::Writable);
    while !is_writable(&selector, first) || !is_writable(&selector, second) {
        selector.select(None, &mut keys)?;
    }
    // Both are ready, so the next batch has both.
    register(&mut selector, first, Interest::Writable, "first");
    register(&mut selector, second, Interest::Writable, "second");
    selector.select(None, &mut keys)?;
    let mut third = None;
    let mut is_well = true;
    for key in keys.drain(..) {
        let event = if key == first { "first" } else { "second" };
        let Some(called) = selector.take(key) else {
            println!("event of {event}: stale, nothing is called");
            continue;
        };
        trace::callback(&called, "closure", Some(key.to_bits()));
        println!("event of {event}: calls {called}");
        is_well &= called == event;
        if key == first {
            selector.unregister(second);
            let (socket, key) = selector.connect(address)?;
            register(&mut selector, key, Interest::Readable, "third");
            println!("  it closes second, and opens third, which waits for an answer");
            third = Some((socket, key));
        }
    }
    drop(second_socket);
    if let Some((_socket, key)) = third {
        let waiter = selector.take(key);
        println!("waiting for the answer to third: {}", waiter.unwrap_or("nothing any more"));
    }
    Ok(is_well)
}
