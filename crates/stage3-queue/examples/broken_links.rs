//! Fails when a site has broken links, and lists them with the pages to mend:
//! what one may run in CI after a site was built and is served.
//!
//! ```text
//! cargo run --release -p stage3-queue --example broken_links -- http://localhost:8000/
//! ```
//!
//! Exit codes: 0 when all is well, 1 when something is broken or was not
//! looked at, 3 when it could not run.
#![allow(clippy::print_stdout, clippy::print_stderr)] // A program for people.

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::time::Duration;

use crawl_core::{Options, Row};
use stage3_queue::Crawler;
use url::Url;

/// A job that hangs is worse than one that fails.
const MAX_TIME: Duration = Duration::from_secs(10 * 60);

fn main() -> ExitCode {
    match check() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}

/// Whether all is well.
fn check() -> Result<bool, Box<dyn Error>> {
    let roots: Vec<Url> = env::args().skip(1).map(|url| url.parse()).collect::<Result<_, _>>()?;
    if roots.is_empty() {
        return Err("usage: broken_links URL...".into());
    }
    let mut options = Options::new(roots);
    options.max_time = Some(MAX_TIME);

    let (sender, broken) = channel();
    let crawler = Crawler::builder(options).on_row(move |row| {
        if row.is_broken() {
            // Refused only when nobody listens; we do, below.
            let _ = sender.send(row);
        }
    });
    let ending = crawler.run()?;

    let mut broken: Vec<Row> = broken.iter().collect();
    broken.sort_by(|a, b| a.url.cmp(&b.url));
    for row in &broken {
        println!("{}: {}", row.url, reason(row));
        let (referrers, count) = ending.admission.referrers(&row.url);
        for referrer in &referrers {
            match referrer.mention {
                Some(mention) => println!("    {}:{}", referrer.url, mention.place.line),
                None => println!("    {}", referrer.url),
            }
        }
        if count as usize > referrers.len() {
            println!("    and from {} more", count as usize - referrers.len());
        }
    }
    println!("{} checked, {} broken", ending.done, broken.len());
    if let Some(left_out) = ending.left_out() {
        println!("{left_out}");
    }
    Ok(broken.is_empty() && ending.todo == 0)
}

fn reason(row: &Row) -> String {
    match (&row.error, row.status) {
        (Some(error), _) => error.to_string(),
        (None, Some(status)) => format!("status {status}"),
        (None, None) => "no answer".to_owned(),
    }
}
