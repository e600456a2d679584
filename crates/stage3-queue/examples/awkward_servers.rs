//! Nine badly behaved servers, and the row of each.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::mpsc::channel;
use std::time::Duration;

use crawl_core::{Options, Row};
use demo_site::scripted::{Reply, Request, Server};

// ANCHOR: servers
const PATHS: &str = "silence drip goodbye cut garbage headers large gzip nowhere";
const OK: &str = "HTTP/1.1 200 OK\r\n";

fn answer(request: &Request, reply: &mut Reply<'_>) {
    match request.target.as_str() {
        "/silence" => reply.sleep(Duration::from_secs(60)),
        "/drip" => {
            let endless = format!("{OK}X-Drip: {}", "drop ".repeat(1000));
            reply.drip(endless, 1, Duration::from_millis(20));
        }
        "/goodbye" => reply.close(),
        "/cut" => reply.send(format!("{OK}Content-Length: 1000\r\n\r\nthat is all")),
        "/garbage" => reply.send("220 mail.test ready\r\n\r\n"),
        "/headers" => reply.send(format!("{OK}{}", "X: x\r\n".repeat(100_000))),
        "/large" => reply.page(vec![b'x'; 2_000_000]),
        "/gzip" => {
            let headers = [("Content-Type", "text/html"), ("Content-Encoding", "gzip")];
            reply.status(200, "OK", &headers, "no, it is not");
        }
        "/nowhere" => reply.status(302, "Found", &[], ""),
        _ => {
            let link = |path| format!("<a href={path}>{path}</a>\n");
            reply.page(PATHS.split(' ').map(link).collect::<String>());
        }
    }
    reply.close();
}
// ANCHOR_END: servers

fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::start(answer)?;
    // ANCHOR: options
    let mut options = Options::new(vec![server.url("/").parse()?]);
    options.settings.read_timeout = Duration::from_secs(1);
    options.settings.timeout = Duration::from_secs(2);
    options.settings.max_body_size = 1_000_000;
    options.settings.max_tries = 2;
    // ANCHOR_END: options

    let (sender, rows) = channel();
    let summary = stage3_queue::crawl(options, Box::new(move |row| drop(sender.send(row))))?;
    let rows: BTreeMap<String, Row> =
        rows.iter().map(|row| (row.url.replace(&server.url(""), ""), row)).collect();
    let paths = PATHS.split(' ').map(|path| format!("/{path}"));
    for path in ["/".to_owned()].into_iter().chain(paths) {
        let row = &rows[&path];
        let status = row.status.map_or("-".into(), |status| status.to_string());
        let error = row.error.as_ref().map_or("", |error| error.class.name());
        let outcome = format!("{:?}", row.outcome);
        println!("{path:9} {status:4} {outcome:10} {error:16} tries: {}", row.tries);
    }
    println!("{} rows, {} left to do", summary.done, summary.todo);
    Ok(())
}
