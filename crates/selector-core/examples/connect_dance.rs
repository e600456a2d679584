//! A non-blocking connect, once accepted and once refused.
#![allow(clippy::print_stdout)]

use std::io;
use std::net::{SocketAddr, TcpListener};

use selector_core::{Interest, Selector};

fn main() -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    println!("a server that listens:");
    dance(address)?;

    drop(listener);
    println!("a port where no server does any more:");
    dance(address)
}

// ANCHOR: dance
fn dance(address: SocketAddr) -> io::Result<()> {
    let mut selector = Selector::new()?;
    let (socket, key) = selector.connect(address)?;
    println!("  connect has returned");
    selector.register(key, Interest::Writable, "the waiter");
    let mut keys = Vec::new();
    loop {
        selector.select(None, &mut keys)?;
        let waiter = keys.pop().and_then(|key| selector.take(key));
        let Some(waiter) = waiter else { continue };
        println!("  {waiter} is told: writable");
        match socket.connected() {
            Ok(true) => println!("  connected"),
            Ok(false) => {
                println!("  not yet: told without cause");
                selector.clear(key, Interest::Writable);
                selector.register(key, Interest::Writable, waiter);
                continue;
            }
            Err(error) => println!("  not connected: {}", error.kind()),
        }
        return Ok(());
    }
}
// ANCHOR_END: dance
