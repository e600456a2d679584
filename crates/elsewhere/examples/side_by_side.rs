//! One site, three runtimes: what each crawler finds, and what it costs the
//! server.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io;
use std::sync::mpsc::channel;

use crawl_core::{Ending, Options, Row, Sink};
use demo_site::{DemoSite, SiteOptions};

type CrawlFn = fn(Options, Sink) -> io::Result<Ending>;

fn main() -> Result<(), Box<dyn Error>> {
    let crawlers: [(&str, CrawlFn); 3] = [
        ("stage 3", stage3_queue::crawl),
        ("tokio", elsewhere::on_tokio::crawl),
        ("smol", elsewhere::on_smol::crawl),
    ];
    let mut first = None;
    for (name, crawl) in crawlers {
        let site = DemoSite::start(SiteOptions { pages: 300, ..SiteOptions::default() })?;
        let (sender, rows) = channel();
        let sink: Sink = Box::new(move |row| drop(sender.send(row)));
        let ending = crawl(Options::new(vec![site.root().parse()?]), sink)?;

        let mut told: Vec<_> = rows.iter().map(|row| told(&site, &row)).collect();
        told.sort();
        let agrees = *first.get_or_insert_with(|| told.clone()) == told;
        println!(
            "{name:8} {} rows, {} requests, {}, at most {} at a time, {}",
            ending.done,
            site.requests(),
            if site.connections() < site.requests() { "keep-alive" } else { "a connection each" },
            ending.peak_in_flight,
            if agrees { "agrees" } else { "DIFFERS" },
        );
    }
    Ok(())
}

/// What of a row does not depend on the port, the time or the order.
fn told(site: &DemoSite, row: &Row) -> String {
    let told = format!("{} {:?} {:?} {:?}", row.url, row.outcome, row.status, row.next_url);
    format!("{} {} {}", told.replace(&site.root(), "/"), row.size, row.num_urls)
}
