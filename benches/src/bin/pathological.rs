//! How long pages take that were made to be expensive: `cargo run --release -p
//! benches --bin pathological`.
//!
//! Each is 10 MiB long and may take four times as long as 10 MiB of the page on
//! which the bench `links` measures, which has a link in every 400 bytes; if one
//! takes longer, the program fails. Real pages of mostly text, which is skipped
//! and not read, are told beside it. What all of them may take of memory is a
//! test of `crawl-core`.

#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "../../../crates/crawl-core/tests/common/pathological.rs"]
mod pathological;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use benches::pages::documentation;
use crawl_core::links::Wanted;
use crawl_core::page::PageReader;
use pathological::{PATHOLOGICAL, deliver};
use url::Url;

/// How long the page is that is ordinary, in bytes: as in the bench `links`.
const ORDINARY: usize = 8 * 1024;

/// Pages that somebody wrote for readers: three kinds of Rust's documentation.
const REAL: [&str; 3] = [
    include_str!("../../../crates/crawl-core/tests/pages/nomicon.html"),
    include_str!("../../../crates/crawl-core/tests/pages/std.html"),
    include_str!("../../../crates/crawl-core/tests/pages/cargo.html"),
];

const LENGTH: usize = 10 * 1024 * 1024;

/// How many times as long a page may take as an ordinary one.
const MOST: f64 = 4.0;

/// How many parts a page is timed in.
const PARTS: usize = 64;

/// How often everything is read.
const ROUNDS: usize = 5;

/// How often at most. On a busy machine, a page gets more chances.
const MOST_ROUNDS: usize = 50;

/// The shortest times that the parts of a page took in several rounds: what
/// disturbs a measurement makes it longer, and hardly ever hits the same part in
/// each round.
struct Times([Duration; PARTS]);

impl Times {
    fn new() -> Self {
        Self([Duration::MAX; PARTS])
    }

    /// Reads the page once more.
    fn measure(&mut self, begin: &str, repeat: &str) {
        let url = Url::parse("http://site.test/").expect("this is a URL");
        // What a crawl looks for unless it is told otherwise.
        let wanted = Wanted { details: true, nofollow: true, ..Wanted::default() };
        let mut reader = PageReader::new(&url, Some("utf-8"), wanted);
        let (mut taken, mut part, mut begun) = (0, 0, Instant::now());
        deliver(begin, repeat, LENGTH, |slice| {
            reader.feed(slice);
            taken += slice.len();
            if taken >= (part + 1) * (LENGTH / PARTS) {
                let ended = Instant::now();
                self.0[part] = self.0[part].min(ended - begun);
                part += 1;
                begun = ended;
            }
        });
        reader.finish(&url);
    }

    fn seconds(&self) -> f64 {
        self.0.iter().map(Duration::as_secs_f64).sum()
    }
}

fn main() -> ExitCode {
    let page = documentation(ORDINARY);
    let real = REAL.concat();
    // Part of a name: only what is called so is measured.
    let only = std::env::args().nth(1).unwrap_or_default();
    let pages = PATHOLOGICAL.iter().filter(|(name, ..)| name.contains(&only));
    let mut pages: Vec<_> = pages.map(|page| (page, Times::new())).collect();
    let (mut ordinary, mut text) = (Times::new(), Times::new());
    for round in 0..MOST_ROUNDS {
        // In turn, so that all of them meet with the same disturbances.
        ordinary.measure("", &page);
        text.measure("", &real);
        for ((_, begin, repeat), times) in &mut pages {
            if round < ROUNDS || times.seconds() > MOST * ordinary.seconds() {
                times.measure(begin, repeat);
            }
        }
    }

    let ordinary = ordinary.seconds();
    let tell = |name: &str, seconds: f64| {
        println!("{name:38} {:6.1} ms {:5.2}", seconds * 1e3, seconds / ordinary);
    };
    tell("documentation", ordinary);
    tell("documentation of mostly text", text.seconds());
    for ((name, ..), times) in &pages {
        tell(name, times.seconds());
    }
    let slowest = pages.iter().map(|(_, times)| times.seconds()).fold(0.0, f64::max);
    if slowest > MOST * ordinary {
        eprintln!("the slowest takes {:.2} times as long as documentation", slowest / ordinary);
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
