//! Waiting for three answers with calls that block: in a row, and in the wrong
//! order.
#![allow(clippy::print_stdout)]

mod support;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

/// The latency of each answer in milliseconds.
const REQUESTS: [u32; 3] = [300, 200, 100];

fn main() -> io::Result<()> {
    let address = support::slow_server()?;
    println!("one after another:");
    one_after_another(address)?;
    println!("asked at once, waited for in a row:");
    asked_at_once(address)
}

// ANCHOR: one_after_another
fn one_after_another(address: SocketAddr) -> io::Result<()> {
    let begun = Instant::now();
    for millis in REQUESTS {
        let mut stream = TcpStream::connect(address)?;
        writeln!(stream, "{millis}")?;
        read_line(&mut stream)?; // blocks
        report(millis, begun);
    }
    Ok(())
}
// ANCHOR_END: one_after_another

// ANCHOR: asked_at_once
fn asked_at_once(address: SocketAddr) -> io::Result<()> {
    let begun = Instant::now();
    let mut streams = Vec::new();
    for millis in REQUESTS {
        let mut stream = TcpStream::connect(address)?;
        writeln!(stream, "{millis}")?;
        streams.push((millis, stream));
    }
    for (millis, mut stream) in streams {
        read_line(&mut stream)?; // blocks, even if another answer is ready
        report(millis, begun);
    }
    Ok(())
}
// ANCHOR_END: asked_at_once

fn read_line(stream: &mut impl Read) -> io::Result<()> {
    let mut byte = [0];
    while byte != *b"\n" {
        stream.read_exact(&mut byte)?;
    }
    Ok(())
}

fn report(millis: u32, begun: Instant) {
    let seconds = begun.elapsed().as_secs_f64();
    println!("  there after 0.{}s, taken after {seconds:.1}s", millis / 100);
}
