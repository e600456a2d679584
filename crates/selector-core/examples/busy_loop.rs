//! A non-blocking socket, and three ways to find out that it is readable: busy
//! polling, polling with naps, and a selector.
#![allow(clippy::print_stdout)]

mod support;

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use selector_core::{Interest, Selector};
use support::thousands;

/// The latency of the answer in milliseconds.
const REQUEST: &[u8] = b"200\n";

fn main() -> io::Result<()> {
    let address = support::slow_server()?;
    println!("way                asked  answer noticed after");
    let begun = Instant::now();
    report("busy loop", busy_loop(ask(address)?)?, begun);
    let begun = Instant::now();
    report("naps of 70 ms", with_naps(ask(address)?)?, begun);
    let begun = Instant::now();
    report("selector", with_a_selector(address)?, begun);
    Ok(())
}

fn report(way: &str, asked: usize, begun: Instant) {
    println!("{way:<13}  {:>9}  {} ms", thousands(asked), begun.elapsed().as_millis());
}

/// Connects in the blocking way and makes the socket non-blocking.
fn ask(address: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(REQUEST)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

// ANCHOR: busy_loop
/// Reads until there is an answer, and counts the reads.
fn busy_loop(mut stream: TcpStream) -> io::Result<usize> {
    let mut asked = 0;
    loop {
        asked += 1;
        match stream.read(&mut [0; 16]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            result => return result.map(|_| asked),
        }
    }
}
// ANCHOR_END: busy_loop

/// Reads until there is an answer, with a nap between reads.
fn with_naps(mut stream: TcpStream) -> io::Result<usize> {
    let mut asked = 0;
    loop {
        asked += 1;
        match stream.read(&mut [0; 16]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                thread::sleep(Duration::from_millis(70));
            }
            result => return result.map(|_| asked),
        }
    }
}

/// Reads when the selector says so.
fn with_a_selector(address: SocketAddr) -> io::Result<usize> {
    let mut selector = Selector::new()?;
    let (mut socket, key) = selector.connect(address)?;
    let mut keys = Vec::new();
    selector.register(key, Interest::Writable, ());
    while !socket.connected()? {
        selector.select(None, &mut keys)?;
    }
    socket.write_all(REQUEST)?;

    selector.register(key, Interest::Readable, ());
    let mut asked = 0;
    loop {
        selector.select(None, &mut keys)?;
        if keys.drain(..).all(|key| selector.take(key).is_none()) {
            continue; // Another event came first.
        }
        asked += 1;
        match socket.read(&mut [0; 16]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                selector.clear(key, Interest::Readable);
                selector.register(key, Interest::Readable, ());
            }
            result => return result.map(|_| asked),
        }
    }
}
