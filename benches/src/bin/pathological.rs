//! The time to parse pathological pages, which are made to be expensive: `cargo
//! run --release -p benches --bin pathological`.
//!
//! Each is 10 MiB long and may take 0.43 of the time that html5ever's tokenizer takes for
//! 10 MiB of the page of the bench `links`. If one takes longer, the program
//! fails. Our own time for ordinary pages is only shown: most of it is skipping text, whose
//! speed differs less between processors than that of the tokenizer and of these pages. A
//! test of `crawl-core` limits the memory that the pages take.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use benches::pages::documentation;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use test_support::pathological::{PATHOLOGICAL, deliver};
use url::Url;
use web::links::ExtractOptions;
use web::page::PageReader;

/// The length of the ordinary page in bytes, the same as in the bench `links`.
const ORDINARY: usize = 8 * 1024;

/// Real pages: three kinds of Rust's documentation.
const REAL: [&str; 3] = [
    include_str!("../../../crates/web/tests/pages/nomicon.html"),
    include_str!("../../../crates/web/tests/pages/std.html"),
    include_str!("../../../crates/web/tests/pages/cargo.html"),
];

/// The length of a measured text, in bytes.
const LENGTH: usize = 10 * 1024 * 1024;

/// The maximum time of a page, as a multiple of the tokenizer's for the ordinary page.
const MAX: f64 = 0.43;

/// The number of parts that a page is timed in.
const PARTS: usize = 64;

/// The number of rounds in which all pages are read.
const ROUNDS: usize = 5;

/// The maximum number of rounds. On a busy machine, a slow page gets more rounds
/// to reach the limit.
const MAX_ROUNDS: usize = 50;

/// The shortest time of each part of a page, and of its end, in several rounds: a disturbance
/// makes a measurement longer, and hardly ever hits the same part in each round.
struct Times([Duration; PARTS + 1]);

impl Times {
    fn new() -> Self {
        Self([Duration::MAX; PARTS + 1])
    }

    /// Reads the page once and updates the shortest times.
    fn measure(&mut self, begin: &str, repeat: &str) {
        let url = Url::parse("http://site.test/").expect("this is a URL");
        // All that the program looks for unless told otherwise.
        let options = ExtractOptions { ids: false, ..ExtractOptions::ALL };
        let mut reader = PageReader::new(&url, Some("utf-8"), options);
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
        self.0[PARTS] = self.0[PARTS].min(begun.elapsed());
    }

    fn seconds(&self) -> f64 {
        self.0.iter().map(Duration::as_secs_f64).sum()
    }
}

/// A sink that drops the tokens of html5ever.
struct NullSink;

impl TokenSink for NullSink {
    type Handle = ();

    fn process_token(&self, _: Token, _: u64) -> TokenSinkResult<()> {
        TokenSinkResult::Continue
    }
}

/// Returns the time that html5ever's tokenizer takes for a page.
fn tokenizer_time(page: &str) -> Duration {
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from(page));
    let begun = Instant::now();
    let tokenizer = Tokenizer::new(NullSink, TokenizerOpts::default());
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    begun.elapsed()
}

fn main() -> ExitCode {
    let page = documentation(ORDINARY);
    let real = REAL.concat();
    // A filter: only the pages whose name contains it are measured.
    let only = std::env::args().nth(1).unwrap_or_default();
    let pages = PATHOLOGICAL.iter().filter(|(name, ..)| name.contains(&only));
    let mut pages: Vec<_> = pages.map(|page| (page, Times::new())).collect();
    let (mut ordinary, mut text) = (Times::new(), Times::new());
    let mut tokenizer = f64::INFINITY;
    for round in 0..MAX_ROUNDS {
        // One after another, so that disturbances affect all of them alike.
        ordinary.measure("", &page);
        text.measure("", &real);
        for _ in 0..PARTS {
            let seconds = tokenizer_time(&page).as_secs_f64();
            tokenizer = tokenizer.min(seconds * LENGTH as f64 / page.len() as f64);
        }
        for ((_, begin, repeat), times) in &mut pages {
            if round < ROUNDS || times.seconds() > MAX * tokenizer {
                times.measure(begin, repeat);
            }
        }
    }

    let print = |name: &str, seconds: f64| {
        println!("{name:39} {:6.1} ms {:5.2}", seconds * 1e3, seconds / tokenizer);
    };
    print("documentation, by html5ever's tokenizer", tokenizer);
    print("documentation", ordinary.seconds());
    print("documentation of mostly text", text.seconds());
    for ((name, ..), times) in &pages {
        print(name, times.seconds());
    }
    let slowest = pages.iter().map(|(_, times)| times.seconds()).fold(0.0, f64::max);
    if slowest > MAX * tokenizer {
        eprintln!("the slowest takes {:.2} times as long as the tokenizer", slowest / tokenizer);
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
