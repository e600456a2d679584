//! What a kept connection holds while nothing happens on it.
#![cfg(feature = "tls")]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::alloc::System;
use std::io::Read;
use std::sync::Arc;

use common::{Authority, Pair};
use rustls::version::{TLS12, TLS13};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use transport::Security;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The test is alone in its process, for the allocator is everybody's.
#[test]
fn an_idle_connection_is_small() {
    const PAGE: &[u8] = &[b'x'; 100_000];
    let root = Authority::new("Root");
    let security = Security::new(&[root.der()], false);
    for version in [&TLS12, &TLS13] {
        let config = Arc::new(root.issue(&["a.test"]).server_of(&[version]));
        for size in [0, 100, 8_000, PAGE.len()] {
            let mut pair = Pair::new(&security, "a.test", &config);
            pair.ask(b"hello").unwrap();
            pair.server.say(&PAGE[..size]);
            pair.pass();
            // To the last byte of the page and no further, as a crawler does.
            let (mut buffer, mut heard) = (vec![0; 64 * 1024], 0);
            while heard < size {
                heard += pair.client.read(&mut buffer).unwrap();
            }
            // No room for a goodbye, which would be counted.
            pair.end.0.borrow_mut().room = 0;
            let region = Region::new(ALLOCATOR);
            drop(pair.client);
            let change = region.change();
            let held = change.bytes_deallocated - change.bytes_allocated;
            println!("{version:?}, after a page of {size} bytes: {held} bytes");
            assert!((1_000..10_000).contains(&held), "{version:?}, {size}: {held}");
        }
    }
}
