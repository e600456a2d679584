//! Waiting for three answers on one thread, each taken when it is there.
#![allow(clippy::print_stdout)]

mod support;

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Instant;

use selector_core::{Interest, Key, Selector, Socket};

/// The latency of each answer in milliseconds.
const REQUESTS: [u32; 3] = [300, 200, 100];

fn main() -> io::Result<()> {
    let address = support::slow_server()?;
    let begun = Instant::now();
    let ticks = run(address, |millis| report(millis, begun))?;
    // Three connections and three answers: six events at most, unless the system
    // reports one twice.
    println!("{}", if ticks <= 9 { "a handful of ticks" } else { "too many ticks" });
    Ok(())
}

fn report(millis: u32, begun: Instant) {
    let seconds = begun.elapsed().as_secs_f64();
    println!("  there after 0.{}s, taken after {seconds:.1}s", millis / 100);
}

// ANCHOR: request
/// The waiter under a key: a conversation and its state.
struct Request {
    socket: Socket,
    millis: u32,
    is_sent: bool,
}
// ANCHOR_END: request

// ANCHOR: loop
fn run(address: SocketAddr, mut done: impl FnMut(u32)) -> io::Result<u32> {
    let mut selector = Selector::new()?;
    for millis in REQUESTS {
        let (socket, key) = selector.connect(address)?;
        let request = Request { socket, millis, is_sent: false };
        selector.register(key, Interest::Writable, request);
    }
    let (mut keys, mut ticks) = (Vec::new(), 0);
    while !selector.is_empty() {
        ticks += 1;
        selector.select(None, &mut keys)?; // the one place where the program waits
        for key in keys.drain(..) {
            if let Some(request) = selector.take(key) {
                advance(request, key, &mut selector, &mut done)?;
            }
        }
    }
    Ok(ticks)
}
// ANCHOR_END: loop

// ANCHOR: advance
/// Does what can be done now, and registers with the selector for the rest.
fn advance(
    mut request: Request,
    key: Key,
    selector: &mut Selector<Request>,
    done: &mut impl FnMut(u32),
) -> io::Result<()> {
    if !request.is_sent {
        if !request.socket.connected()? {
            selector.clear(key, Interest::Writable);
            selector.register(key, Interest::Writable, request);
            return Ok(());
        }
        writeln!(request.socket, "{}", request.millis)?;
        request.is_sent = true;
    }
    match request.socket.read(&mut [0; 16]) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            selector.clear(key, Interest::Readable);
            selector.register(key, Interest::Readable, request);
        }
        result => {
            result?;
            done(request.millis);
            selector.unregister(key);
        }
    }
    Ok(())
}
// ANCHOR_END: advance
