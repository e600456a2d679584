//! Memory tests of the body decoders: the memory is bounded for every body.
#![allow(clippy::unwrap_used, missing_docs)]

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use test_support::encoders::*;
use web::ErrorClass;
use web::body::{BodyDecoder, TextDecoder};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Returns the number of bytes that were allocated in the region and not freed.
fn held(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.bytes_allocated.saturating_sub(change.bytes_deallocated)
}

/// Returns the peak memory while a body decompresses to more than 4 MiB of zeros.
fn peak_of_a_bomb(header: &str, bomb: &[u8]) -> usize {
    const LIMIT: usize = 4 * MIB;
    let codings = codings(header);
    let region = Region::new(ALLOCATOR);
    let mut decoder = BodyDecoder::new(&codings, LIMIT as u64);
    assert!(held(&region) < KIB, "{header}: nothing has come yet");
    let (mut peak, mut decoded) = (0, 0);
    let end = decoder.feed(bomb, &mut |slice| {
        decoded += slice.len();
        peak = peak.max(held(&region));
        Ok(())
    });
    assert_eq!((end.unwrap_err().class, decoded), (ErrorClass::TooLarge, LIMIT), "{header}");
    drop(decoder);
    assert!(held(&region) < KIB, "{header}: all is given back");
    peak
}

/// Returns the peak memory while a page is decoded, without the text passed on.
fn peak_of_a_page(label: Option<&str>, page: &[u8]) -> usize {
    let region = Region::new(ALLOCATOR);
    let mut decoder = TextDecoder::new(label, Some("de"));
    let mut peak = 0;
    for slice in page.chunks(100) {
        decoder.feed(slice, &mut |_| {});
        peak = peak.max(held(&region));
    }
    decoder.finish(&mut |_| {});
    assert_eq!(held(&region), 0);
    peak
}

/// The only test of this program, because the allocator counts for all threads.
#[test]
fn memory_is_bounded() {
    let zeros = vec![0; 4 * MIB + 1];
    // Blocks of 128 KiB in four bytes each, in a window of 8 MiB.
    let block = [&(((128 * 1024_u32) << 3) | 2).to_le_bytes()[..3], &b"\0"[..]].concat();
    let zstd_bomb = [&b"\x28\xb5\x2f\xfd\0\x68"[..], &block.repeat(200)].concat();
    for (header, bomb, limit) in [
        ("gzip", gzip(&zeros), 50 * KIB),
        ("deflate", zlib(&zeros), 50 * KIB),
        ("gzip, gzip", gzip(&gzip(&zeros)), 100 * KIB),
        // With a window of 1 MiB, as most servers use it.
        ("br", brotli(&zeros), MIB + 200 * KIB),
        ("zstd", zstd_bomb, 17 * MIB),
    ] {
        let peak = peak_of_a_bomb(header, &bomb);
        assert!((10 * KIB..limit).contains(&peak), "{header}: {peak}");
    }
    let ascii = "<p>".repeat(30 * KIB);
    let legacy = [ascii.as_bytes(), &b"<p>caf\xe9 \xfcber".repeat(10 * KIB)].concat();
    for (label, page, limit) in [
        (Some("utf-8"), ascii.as_bytes(), 3),
        (Some("windows-1252"), &legacy, 3),
        (None, ascii.as_bytes(), 4 * KIB),
        (None, &legacy, 35 * KIB),
    ] {
        let peak = peak_of_a_page(label, page);
        assert!(peak <= limit, "{label:?}: {peak}");
    }
}
