//! Coalesced redirects: two pages that redirect to the same one, and two that
//! redirect to each other. Shows the number of requests, and where a chain ends.
#![allow(clippy::print_stdout)]

use std::error::Error;

use crawl_core::{Options, Outcome, Row};
use demo_site::scripted::{Reply, Request, Server};

// ANCHOR: site
fn answer(request: &Request, reply: &mut Reply<'_>) {
    match request.target.as_str() {
        "/" => reply.page("<a href=foo>1</a> <a href=bar>2</a> <a href=egg>3</a>"),
        "/foo" | "/bar" => redirect(reply, "/baz"),
        "/baz" => redirect(reply, "/quux"),
        "/egg" => redirect(reply, "/hen"),
        "/hen" => redirect(reply, "/egg"),
        _ => reply.page("no links"),
    }
}
// ANCHOR_END: site

fn redirect(reply: &mut Reply<'_>, target: &str) {
    reply.status(302, "Found", &[("Location", target)], "");
}

fn main() -> Result<(), Box<dyn Error>> {
    for max_redirect in [10, 1] {
        let server = Server::start(answer)?;
        let mut options = Options::new(vec![server.url("/").parse()?]);
        options.settings.max_redirect = max_redirect;
        // A robots.txt would be one more request.
        options.settings.robots = false;
        // One fetch at a time, so that the order is always the same.
        options.max_tasks = Some(1);

        let plural = if max_redirect == 1 { "" } else { "s" };
        println!("at most {max_redirect} redirect{plural} in a chain:");
        let origin = server.url("");
        let path = move |url: &str| url.replace(&origin, "");
        let print = move |row: Row| println!("  {:6} {}", path(&row.url), describe(&row, &path));
        stage3_queue::crawl(options, Box::new(print))?;
        println!("  {} requests", server.requests());
    }
    Ok(())
}

fn describe(row: &Row, path: impl Fn(&str) -> String) -> String {
    let status = row.status.map_or("-".into(), |status| status.to_string());
    let target = row.next_url.as_deref().map(path).unwrap_or_default();
    match (row.outcome, &row.error) {
        (_, Some(error)) => format!("{status} error: {}", error.class.name()),
        (Outcome::Redirect, None) => format!("{status} -> {target}"),
        _ => format!("{status} page, {} of {} links are new", row.num_new_urls, row.num_urls),
    }
}
