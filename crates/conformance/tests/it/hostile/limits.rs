//! Bodies beyond the size limit: endless ones and decompression bombs.

use std::sync::LazyLock;

use crawl_core::ErrorClass::TooLarge;

use demo_site::scripted::{Reply, Request};

use super::behaviour::{Behaviour, html, ok, runs, sends};
use crate::common::{ExpectedRow, failed, other};
use test_support::encoders::{brotli, gzip, zlib};

/// The limit on bodies in the test of this theme.
pub(crate) const MAX: u64 = 100_000;

/// The size in MiB of what is sent or unpacked: more than the default limit.
const MIBS: usize = 11;
const MIB: usize = 1 << 20;

/// The decompression bombs: eleven MiB, packed with each coding.
static BOMBS: LazyLock<[(&str, Vec<u8>); 5]> = LazyLock::new(|| {
    let zeros = vec![0; MIBS * MIB];
    let packed = gzip(&zeros);
    let twice = gzip(&packed);
    [
        ("gzip", packed),
        ("deflate", zlib(&zeros)),
        ("br", brotli(&zeros)),
        ("zstd", zstd_bomb()),
        ("gzip, gzip", twice),
    ]
});

/// Returns a frame of RLE blocks: one byte each, to be repeated 128 Ki times
/// (RFC 8878, section 3.1.1.2).
fn zstd_bomb() -> Vec<u8> {
    const WINDOW_OF_128_KIB: u8 = 7 << 3;
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, WINDOW_OF_128_KIB];
    let blocks = 8 * MIBS;
    for n in 1..=blocks {
        let is_last = u32::from(n == blocks);
        let header = is_last | 1 << 1 | (128 << 10) << 3;
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(b' ');
    }
    frame
}

pub(crate) fn behaviours(_: &str) -> Vec<Behaviour> {
    const BOUNDED: &str = "a body has a limit, and what crosses it is no shorter page";
    let too_large = || failed(TooLarge).status(200);
    let cut_at_limit = || too_large().size(MAX as usize);
    let flood = |path, head: String, piece: Vec<u8>, expected_row: ExpectedRow| {
        runs(
            path,
            BOUNDED,
            move |_, reply| {
                reply.send(&head);
                (0..MIBS).for_each(|_| reply.send(&piece));
                reply.close();
            },
            expected_row,
        )
    };
    let chunk = [&b"100000\r\n"[..], &[b' '; MIB], b"\r\n"].concat();
    let chunks = [&b"400\r\n"[..], &[b' '; 1024], b"\r\n"].concat().repeat(1024);
    let mut all = vec![
        sends("/limits/announced", BOUNDED, ok("Content-Length: 99999999\r\n\r\n"), too_large()),
        sends(
            "/limits/announced-page",
            BOUNDED,
            html("Content-Length: 99999999\r\n\r\n"),
            too_large(),
        ),
        sends(
            "/limits/at-the-limit",
            BOUNDED,
            ok("Content-Length: 100000\r\n\r\n") + &" ".repeat(100_000),
            other(100_000),
        ),
        flood("/limits/endless", ok("\r\n"), vec![b' '; MIB], cut_at_limit()),
        flood("/limits/endless-page", html("\r\n"), vec![b' '; MIB], cut_at_limit()),
        flood("/limits/large-chunks", ok("Transfer-Encoding: chunked\r\n\r\n"), chunk, too_large()),
        flood(
            "/limits/endless-chunks",
            ok("Transfer-Encoding: chunked\r\n\r\n"),
            chunks,
            too_large().size(MAX as usize / 1024 * 1024),
        ),
    ];
    for (n, (codings, _)) in BOMBS.iter().enumerate() {
        let head = format!("Content-Encoding: {codings}\r\nContent-Length: ");
        let script = move |_: &Request, reply: &mut Reply<'_>| {
            let bomb = &BOMBS[n].1;
            reply.send(html(&format!("{head}{}\r\n\r\n", bomb.len())));
            reply.send(bomb);
        };
        let path = format!("/limits/bomb-of-{}", codings.replace(", ", "-in-"));
        all.push(runs(path, BOUNDED, script, cut_at_limit()));
    }
    all
}
