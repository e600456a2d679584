//! 16 MiB sent to a server that does not read yet: with one `write`, with the
//! `write_all` of the standard library, and as it has to be done.
#![allow(clippy::print_stdout)]

mod support;

use std::io::ErrorKind::{Interrupted, WouldBlock, WriteZero};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use selector_core::{Interest, Key, Selector, Socket};
use support::thousands;

/// More than all buffers between the two programs hold.
const LENGTH: usize = 16 * 1024 * 1024;

fn main() -> io::Result<()> {
    println!("one write:");
    send(one_write)?;
    println!("write_all of the standard library:");
    send(write_all_of_std)?;
    println!("write, and wait until there is room for more:");
    send(write_all)
}

/// Sends a message, and prints how much of it has arrived.
fn send(send: fn(&mut Connection, &[u8]) -> io::Result<()>) -> io::Result<()> {
    let (address, starts_to_read, received) = server()?;
    let mut connection = Connection::open(address, starts_to_read)?;
    send(&mut connection, &vec![b'x'; LENGTH])?;
    drop(connection);
    let all = received.recv().map_err(io::Error::other)? == LENGTH;
    println!("  {} has arrived", if all { "all of it" } else { "only a part" });
    Ok(())
}

// ANCHOR: one_write
fn one_write(connection: &mut Connection, message: &[u8]) -> io::Result<()> {
    let taken = connection.socket.write(message)?;
    let offered = thousands(message.len());
    println!("  {offered} bytes are offered, {} are taken", thousands(taken));
    Ok(())
}
// ANCHOR_END: one_write

// ANCHOR: of_std
fn write_all_of_std(connection: &mut Connection, message: &[u8]) -> io::Result<()> {
    if let Err(error) = connection.socket.write_all(message) {
        println!("  {}: how much is sent, it does not say", error.kind());
    }
    Ok(())
}
// ANCHOR_END: of_std

// ANCHOR: write_all
fn write_all(connection: &mut Connection, message: &[u8]) -> io::Result<()> {
    let mut rest = message;
    while !rest.is_empty() {
        match connection.socket.write(rest) {
            Ok(0) => return Err(WriteZero.into()),
            Ok(taken) => rest = &rest[taken..],
            Err(error) if error.kind() == WouldBlock => connection.wait_for_room()?,
            Err(error) if error.kind() == Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
// ANCHOR_END: write_all

/// A connection to a server that reads nothing until the connection has to wait.
struct Connection {
    selector: Selector<()>,
    socket: Socket,
    key: Key,
    server_starts_to_read: Sender<()>,
}

impl Connection {
    fn open(address: SocketAddr, server_starts_to_read: Sender<()>) -> io::Result<Self> {
        let mut selector = Selector::new()?;
        let (socket, key) = selector.connect(address)?;
        let mut connection = Self { selector, socket, key, server_starts_to_read };
        while !connection.socket.connected()? {
            connection.selector.clear(key, Interest::Writable);
            connection.select()?;
        }
        Ok(connection)
    }

    // ANCHOR: wait
    /// Waits until the socket takes more.
    fn wait_for_room(&mut self) -> io::Result<()> {
        self.selector.clear(self.key, Interest::Writable);
        // It may read already, since it was told before.
        let _ = self.server_starts_to_read.send(());
        self.select()
    }
    // ANCHOR_END: wait

    fn select(&mut self) -> io::Result<()> {
        let mut keys = Vec::new();
        while !keys.contains(&self.key) {
            self.selector.register(self.key, Interest::Writable, ());
            self.selector.select(None, &mut keys)?;
        }
        Ok(())
    }
}

/// Starts a server for one connection. It begins to read when it is told so, or when the
/// sender is dropped, and reports at the end of the stream how many bytes have come.
fn server() -> io::Result<(SocketAddr, Sender<()>, Receiver<usize>)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let ((start, started), (report, received)) = (channel(), channel());
    thread::spawn(move || -> io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        let _ = started.recv();
        let (mut count, mut buffer) = (0, vec![0; 64 * 1024]);
        loop {
            match stream.read(&mut buffer)? {
                0 => break,
                length => count += length,
            }
        }
        report.send(count).map_err(io::Error::other)
    });
    Ok((address, start, received))
}
