//! A link checker for CI: fails when a site has broken links, and lists them with
//! the pages to mend. Run it after the site was built, while it is being served.
//!
//! ```text
//! cargo run --release -p crawl --example broken_links -- http://localhost:8000/
//! ```
//!
//! Exit codes: 0 when nothing is broken, 1 when something is broken or was not
//! checked, 3 when it could not run.
#![allow(clippy::print_stdout, clippy::print_stderr)] // A program for people.

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use crawl::{Crawler, Report, Row, default_options};
use url::Url;

/// Limit on the time of the crawl: a CI job that hangs is worse than one that
/// fails.
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

/// Crawls the URLs of the command line and prints the broken links. Returns true if
/// there is none and everything was checked.
fn check() -> Result<bool, Box<dyn Error>> {
    let roots: Vec<Url> = env::args().skip(1).map(|url| url.parse()).collect::<Result<_, _>>()?;
    if roots.is_empty() {
        return Err("usage: broken_links URL...".into());
    }
    let mut options = default_options(roots);
    options.max_time = Some(MAX_TIME);

    let mut report = Report::new();
    let mut broken: Vec<Row> = Vec::new();
    let keep_broken = |row: Row| {
        report.count(&row);
        broken.extend(Some(row).filter(Row::is_broken));
    };
    let summary = Crawler::builder(options).on_row(keep_broken).run()?;

    broken.sort_by(|a, b| a.url.cmp(&b.url));
    for row in &broken {
        println!("{}: {}", row.url, reason(row));
        let (referrers, count) = summary.admission.referrers(&row.url);
        for referrer in &referrers {
            match referrer.context {
                Some(context) => println!("    {}:{}", referrer.url, context.position.line),
                None => println!("    {}", referrer.url),
            }
        }
        if count as usize > referrers.len() {
            println!("    and from {} more", count as usize - referrers.len());
        }
    }
    println!("{} checked, {} broken", summary.done, broken.len());
    if let Some(left_out) = summary.left_out() {
        println!("{left_out}");
    }
    // A root that robots.txt forbids, or that leads off the site, has no links to check.
    let failed_root = report.why_a_root_failed().filter(|_| report.every_root_failed());
    let problem = summary.problem.as_deref().or(failed_root);
    if let Some(problem) = problem {
        println!("{problem}");
    }
    Ok(broken.is_empty() && summary.todo == 0 && problem.is_none())
}

/// Returns the reason why a row is broken.
fn reason(row: &Row) -> String {
    match (&row.error, row.status) {
        (Some(error), _) => error.to_string(),
        (None, Some(status)) => format!("status {status}"),
        (None, None) => "no answer".to_owned(),
    }
}
