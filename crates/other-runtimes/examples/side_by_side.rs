//! A comparison of three runtimes on one site: the rows of each crawler, and the
//! requests and connections that the server counts.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io;
use std::sync::mpsc::channel;

use crawl_core::{CrawlSummary, Options, Row, Sink};
use demo_site::{DemoSite, SiteOptions};

type CrawlFn = fn(Options, Sink) -> io::Result<CrawlSummary>;

fn main() -> Result<(), Box<dyn Error>> {
    let crawlers: [(&str, CrawlFn); 3] = [
        ("stage 3", stage3_queue::crawl),
        ("tokio", other_runtimes::on_tokio::crawl),
        ("smol", other_runtimes::on_smol::crawl),
    ];
    let mut first = None;
    for (name, crawl) in crawlers {
        let site = DemoSite::start(SiteOptions { pages: 300, ..SiteOptions::default() })?;
        let (sender, rows) = channel();
        let sink: Sink = Box::new(move |row| drop(sender.send(row)));
        let summary = crawl(Options::new(vec![site.root().parse()?]), sink)?;

        let mut rows: Vec<_> = rows.iter().map(|row| comparable(&site, &row)).collect();
        rows.sort();
        let agrees = *first.get_or_insert_with(|| rows.clone()) == rows;
        println!(
            "{name:8} {} rows, {} requests, {}, at most {} at a time, {}",
            summary.done,
            site.requests(),
            if site.connections() < site.requests() { "keep-alive" } else { "a connection each" },
            summary.peak_in_flight,
            if agrees { "agrees" } else { "DIFFERS" },
        );
    }
    Ok(())
}

/// Returns the fields of a row that do not depend on the port, the time or the
/// order of fetches.
fn comparable(site: &DemoSite, row: &Row) -> String {
    let text = format!("{} {:?} {:?} {:?}", row.url, row.outcome, row.status, row.next_url);
    format!("{} {} {}", text.replace(&site.root(), "/"), row.size.unwrap_or(0), row.num_urls)
}
