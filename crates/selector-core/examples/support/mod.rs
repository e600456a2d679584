//! Servers for the examples.
#![allow(dead_code)] // Not every example needs all of it.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Starts a server that answers every line, a number of milliseconds, with the
/// same line after that time. Each connection has a thread of its own.
pub(crate) fn slow_server() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer_slowly(stream));
        }
    });
    Ok(address)
}

fn answer_slowly(mut stream: TcpStream) -> io::Result<()> {
    for line in BufReader::new(stream.try_clone()?).lines() {
        let line = line?;
        let millis = line.parse().map_err(io::Error::other)?;
        thread::sleep(Duration::from_millis(millis));
        stream.write_all(format!("{line}\n").as_bytes())?;
    }
    Ok(())
}

/// Starts a server that sends `length` bytes on every connection, reports when
/// they are sent, and closes no connection.
pub(crate) fn server_of(length: usize) -> io::Result<(SocketAddr, Receiver<()>)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let (sender, sent) = channel();
    thread::spawn(move || -> io::Result<()> {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream?;
            stream.write_all(&vec![b'x'; length])?;
            kept.push(stream);
            // The example may have ended.
            let _ = sender.send(());
        }
        Ok(())
    });
    Ok((address, sent))
}

/// Formats a number with a comma at every third digit.
pub(crate) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|part| std::str::from_utf8(part).unwrap_or_default())
        .collect();
    parts.join(",")
}
