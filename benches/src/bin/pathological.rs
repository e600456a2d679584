//! How long pages take that were made to be expensive: `cargo run --release -p
//! benches --bin pathological`.
//!
//! Each is 10 MiB long and may take four times as long as 10 MiB of real
//! documentation; if one takes longer, the program fails. What they may take
//! of memory is a test of `crawl-core`.

#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "../../../crates/crawl-core/tests/common/pathological.rs"]
mod pathological;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crawl_core::links::Wanted;
use crawl_core::page::PageReader;
use pathological::{PATHOLOGICAL, deliver};
use url::Url;

/// Pages that somebody wrote for readers: three kinds of Rust's documentation.
const REAL: [&str; 3] = [
    include_str!("../../../crates/crawl-core/tests/pages/nomicon.html"),
    include_str!("../../../crates/crawl-core/tests/pages/std.html"),
    include_str!("../../../crates/crawl-core/tests/pages/cargo.html"),
];

const LENGTH: usize = 10 * 1024 * 1024;

/// How many times as long a page may take as an ordinary one.
const MOST: f64 = 4.0;

/// The shortest of several times it takes to read the slices that `send` hands
/// on: what disturbs a measurement makes it longer.
fn time_of(send: impl Fn(&mut dyn FnMut(&[u8]))) -> Duration {
    let url = Url::parse("http://site.test/").expect("this is a URL");
    let read = || {
        let begun = Instant::now();
        let mut reader = PageReader::new(&url, Some("utf-8"), Wanted::default());
        send(&mut |slice| reader.feed(slice));
        reader.finish(&url);
        begun.elapsed()
    };
    (0..5).map(|_| read()).min().unwrap_or_default()
}

fn main() -> ExitCode {
    let pages = REAL.concat();
    let ordinary = time_of(|take| deliver("", &pages, LENGTH, take));
    let mut worst = 0.0_f64;
    let mut tell = |name: &str, time: Duration| {
        let ratio = time.as_secs_f64() / ordinary.as_secs_f64();
        println!("{name:38} {:6.1} ms {ratio:5.2}", time.as_secs_f64() * 1e3);
        worst = worst.max(ratio);
    };
    tell("documentation", ordinary);
    for (name, begin, repeat) in PATHOLOGICAL {
        tell(name, time_of(|take| deliver(begin, repeat, LENGTH, take)));
    }
    if worst > MOST {
        eprintln!("the slowest takes {worst:.2} times as long as documentation");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
