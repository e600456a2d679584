//! An audit of the pages of a site, as a table for a spreadsheet: the title, the canonical URL
//! and the description of each page, and how often its title occurs.
//!
//! ```text
//! cargo run --release -p crawl --example audit -- https://example.com/ > pages.csv
//! ```
#![allow(clippy::print_stderr)] // A program for people.

use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::io;
use std::process::ExitCode;

use crawl::{Check, Crawler, Outcome, Row, Selection, default_options};
use url::Url;

/// What is selected from each page, by the names of the columns.
const SELECTIONS: [(&str, &str); 3] = [
    ("title", "title=head title"),
    ("canonical", "canonical=link[rel=canonical]@href"),
    ("description", "description=meta[name=description]@content"),
];

fn main() -> ExitCode {
    match audit() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}

fn audit() -> Result<(), Box<dyn Error>> {
    let roots: Vec<Url> = env::args().skip(1).map(|url| url.parse()).collect::<Result<_, _>>()?;
    if roots.is_empty() {
        return Err("usage: audit URL...".into());
    }
    let mut options = default_options(roots);
    // Only pages are wanted, and not what they load.
    options.settings.check = Check::default();
    options.settings.select =
        SELECTIONS.iter().map(|(_, css)| Selection::parse(css)).collect::<Result<_, _>>()?;

    let mut pages: Vec<Row> = Vec::new();
    let keep_page = |row: Row| {
        if row.outcome == Outcome::Page {
            pages.push(row);
        }
    };
    Crawler::builder(options).on_row(keep_page).run()?;

    pages.sort_by(|a, b| a.url.cmp(&b.url));
    let mut num_with_title: HashMap<&str, u32> = HashMap::new();
    for page in &pages {
        *num_with_title.entry(selected(page, "title")).or_default() += 1;
    }
    let mut table = csv::Writer::from_writer(io::stdout());
    table.write_record([
        "url",
        "clicks",
        "title",
        "pages with this title",
        "canonical",
        "description",
    ])?;
    for page in &pages {
        let title = selected(page, "title");
        table.write_record([
            &*page.url,
            &page.depth.to_string(),
            title,
            &num_with_title[title].to_string(),
            selected(page, "canonical"),
            selected(page, "description"),
        ])?;
    }
    table.flush()?;
    Ok(())
}

/// Returns the first text of a selection, which is empty if nothing matches.
fn selected<'a>(page: &'a Row, name: &str) -> &'a str {
    let texts = page.selected.as_ref().and_then(|selected| selected.get(name));
    texts.and_then(|texts| texts.first()).map_or("", String::as_str)
}
