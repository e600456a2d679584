//! Reads from a real connection.

use std::io::{ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::thread;
use std::time::Duration;

use asyncio::prelude::*;
use stage2_coroutines::{connect, read_to_end, system_runtime};
use transport::TlsLayer;

/// Returns what `read_to_end` returns for a response in these pieces, after which the
/// server closes the connection.
fn read_pieces(pieces: &'static [&'static str], limit: usize) -> std::io::Result<Vec<u8>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        for piece in pieces {
            // The client may have heard enough.
            if stream.write_all(piece.as_bytes()).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    });
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let reading = async {
        let mut connection = connect(&event_loop, address, TlsLayer::plain()).await?;
        read_to_end(&mut connection, limit).await
    };
    let result = runtime.run_sync(reading, Duration::from_secs(10));
    server.join().unwrap();
    result.unwrap()
}

#[test]
fn read_to_end_returns_all_bytes_until_the_server_closes() {
    assert_eq!(read_pieces(&["one ", "and ", "all"], 11).unwrap(), b"one and all");
    assert_eq!(read_pieces(&[], 0).unwrap(), b"");
}

#[test]
fn read_to_end_stops_at_its_limit() {
    let error = read_pieces(&["one ", "and ", "all"], 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
}
