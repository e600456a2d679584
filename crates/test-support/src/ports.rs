//! Ports for servers that take a number and cannot say which one they got.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns a port of 127.0.0.1 that is free, another one each time. It is below those that
/// systems give out by themselves, and apart from those of other processes, so it is still
/// free when the server comes to listen.
pub fn free_port() -> u16 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let n = std::process::id().wrapping_mul(64) + COUNT.fetch_add(1, Ordering::Relaxed);
        let port = 10_000 + (n % 20_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
