//! Data from the pages of a site, as a JSON object for each page on which something was found,
//! while the crawl runs.
//!
//! ```text
//! cargo run --release -p crawl --example extract -- https://example.com/ name=h1 price=.price
//! ```
#![allow(clippy::print_stderr)] // A program for people.

use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use crawl::{Check, Crawler, Row, Selection, default_options};
use serde_json::json;

fn main() -> ExitCode {
    match extract() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}

fn extract() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let root = arguments.next().ok_or("usage: extract URL NAME=CSS...")?;
    let mut options = default_options(vec![root.parse()?]);
    options.settings.select =
        arguments.map(|selection| Selection::parse(&selection)).collect::<Result<_, _>>()?;
    // Only pages are wanted, and not what they load.
    options.settings.check = Check::default();

    let mut written = Ok(());
    let crawler = Crawler::builder(options);
    let shutdown = crawler.shutdown_handle();
    let write_found = |row: Row| {
        let Some(selected) = &row.selected else { return };
        if selected.values().all(Vec::is_empty) || written.is_err() {
            return;
        }
        let line = json!({"url": row.url, "selected": selected});
        written = writeln!(io::stdout(), "{line}");
        if written.is_err() {
            // Nobody reads on: the rest of the site need not be requested.
            shutdown.stop(crawl::StopReason::MaxTime);
        }
    };
    crawler.on_row(write_found).run()?;
    Ok(written?)
}
