//! 16 KiB read 4 KiB at a time under edge triggering: once as the chapter reads,
//! and in the two ways that work. Without the crate's `Selector`, to show its
//! purpose.
#![allow(clippy::print_stdout)]

mod support;

use std::io::{self, ErrorKind, Read};
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use support::thousands;

const LENGTH: usize = 16 * 1024;
const CHUNK: usize = 4 * 1024;
/// Longer than any event on its way takes.
const A_WHILE: Duration = Duration::from_millis(300);

fn main() -> io::Result<()> {
    println!("one read per event, as in the chapter:");
    one_read_per_event(&mut Connection::open()?)?;
    println!("read until it would block:");
    until_it_would_block(&mut Connection::open()?)?;
    println!("one read per event, registered anew each time:");
    registered_anew(&mut Connection::open()?)
}

/// Makes a connection on which all bytes have arrived.
struct Connection {
    poll: Poll,
    events: Events,
    stream: TcpStream,
    received: usize,
}

impl Connection {
    fn open() -> io::Result<Self> {
        let (address, sent) = support::server_of(LENGTH)?;
        let stream = std::net::TcpStream::connect(address)?;
        sent.recv().map_err(io::Error::other)?;
        stream.peek(&mut [0])?;
        stream.set_nonblocking(true)?;
        let poll = Poll::new()?;
        let mut stream = TcpStream::from_std(stream);
        poll.registry().register(&mut stream, Token(0), Interest::READABLE)?;
        Ok(Self { poll, events: Events::with_capacity(8), stream, received: 0 })
    }

    /// Returns true if there was an event within a while.
    fn select(&mut self) -> io::Result<bool> {
        while let Err(error) = self.poll.poll(&mut self.events, Some(A_WHILE)) {
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        Ok(!self.events.is_empty())
    }

    fn read(&mut self) -> io::Result<()> {
        let count = self.stream.read(&mut [0; CHUNK])?;
        self.received += count;
        println!("  read {} bytes", thousands(count));
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.received == LENGTH
    }
}

// ANCHOR: one_read
fn one_read_per_event(connection: &mut Connection) -> io::Result<()> {
    while !connection.is_complete() {
        if !connection.select()? {
            let left = thousands(LENGTH - connection.received);
            println!("  no event, and {left} bytes are waiting to be read");
            return Ok(());
        }
        println!("  event");
        connection.read()?;
    }
    Ok(())
}
// ANCHOR_END: one_read

// ANCHOR: would_block
fn until_it_would_block(connection: &mut Connection) -> io::Result<()> {
    while !connection.is_complete() && connection.select()? {
        println!("  event");
        loop {
            match connection.read() {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        println!("  it would block");
    }
    Ok(())
}
// ANCHOR_END: would_block

// ANCHOR: anew
fn registered_anew(connection: &mut Connection) -> io::Result<()> {
    while !connection.is_complete() && connection.select()? {
        println!("  event");
        connection.read()?;
        // A system call for each read, to learn what was known already.
        let Connection { poll, stream, .. } = connection;
        poll.registry().reregister(stream, Token(0), Interest::READABLE)?;
    }
    Ok(())
}
// ANCHOR_END: anew
