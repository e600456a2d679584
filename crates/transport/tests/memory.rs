//! Memory of an idle TLS connection.
#![cfg(feature = "tls")]
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "it/common/mod.rs"]
mod common;

use std::alloc::System;
use std::io::Read;
use std::sync::Arc;

use common::{Authority, Pair};
use rustls::version::{TLS12, TLS13};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use transport::TlsConnector;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The only test of its process, because the allocator counts for all threads.
#[test]
fn an_idle_connection_is_small() {
    const PAGE: &[u8] = &[b'x'; 100_000];
    let root = Authority::new("Root");
    let tls_connector = TlsConnector::new(&[root.der()], false);
    for version in [&TLS12, &TLS13] {
        let config = Arc::new(root.issue(&["a.test"]).server_of(&[version]));
        for size in [0, 100, 8_000, PAGE.len()] {
            let mut pair = Pair::new(&tls_connector, "a.test", &config);
            pair.write_all(b"hello").unwrap();
            pair.server.write(&PAGE[..size]);
            pair.deliver();
            // Reads the last byte of the page and no further, as a crawler does.
            let (mut buffer, mut received) = (vec![0; 64 * 1024], 0);
            while received < size {
                received += pair.client.read(&mut buffer).unwrap();
            }
            // No room for a `close_notify`, whose memory would be counted.
            pair.end.0.borrow_mut().capacity = 0;
            let region = Region::new(ALLOCATOR);
            drop(pair.client);
            let change = region.change();
            let freed = change.bytes_deallocated - change.bytes_allocated;
            println!("{version:?}, after a page of {size} bytes: {freed} bytes");
            assert!((1_000..10_000).contains(&freed), "{version:?}, {size}: {freed}");
        }
    }
}
