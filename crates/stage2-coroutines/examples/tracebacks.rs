//! The traceback of a malformed page. The error comes at the end of a chain of
//! coroutines that have all been suspended in the meantime, and it prints the
//! whole chain. Compare stage 1's example `stack_ripping`.
#![allow(clippy::print_stdout)]

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::thread;

use asyncio::traceback::{Traced, TracedIn};
use stage2_coroutines::{Connection, EventLoop, connect, read_all, system_runtime, write_all};
use transport::TlsLayer;

type Traceable<T> = Result<T, Traced<io::Error>>;

// ANCHOR: crawl
/// `try` and `except` around a coroutine, with everything that it awaits: a
/// `match`.
async fn crawl(event_loop: &EventLoop, address: SocketAddr) -> Traceable<()> {
    for path in ["/", "/nothing", "/malformed"] {
        match fetch(event_loop, address, path).await.traced_in("crawl") {
            Ok(links) => println!("{path} has links to {links:?}"),
            Err(Traced { error, .. }) if error.kind() == ErrorKind::UnexpectedEof => {
                println!("{path} is skipped: {error}");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// `?` alone records the line where an ordinary error becomes a traced one.
async fn fetch(
    event_loop: &EventLoop,
    address: SocketAddr,
    target: &str,
) -> Traceable<Vec<String>> {
    let layer = TlsLayer::plain();
    let mut connection = connect(event_loop, address, layer).await?;
    let request = format!("GET {target} HTTP/1.0\r\n\r\n");
    write_all(&mut connection, request.as_bytes()).await?;
    read_page(&mut connection).await.traced_in("fetch")
}
// ANCHOR_END: crawl

// ANCHOR: read_page
async fn read_page(connection: &mut Connection) -> Traceable<Vec<String>> {
    let mut response = Vec::new();
    let too_large = read_all(connection, |bytes| {
        response.extend_from_slice(bytes);
        let is_too_large = response.len() > LIMIT;
        if is_too_large { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .await?;
    if too_large.is_some() {
        let error = io::Error::new(ErrorKind::InvalidData, "the page is too large");
        return Err(Traced::raised_in("read_page", error));
    }
    parse_links(&String::from_utf8_lossy(&response)).traced_in("read_page")
}

fn parse_links(response: &str) -> Traceable<Vec<String>> {
    let Some((_head, mut page)) = response.split_once("\r\n\r\n") else {
        let error = io::Error::new(ErrorKind::UnexpectedEof, "there is no page");
        return Err(Traced::raised_in("parse_links", error));
    };
    let mut links = Vec::new();
    while let Some((_, rest)) = page.split_once("href=\"") {
        let Some((link, rest)) = rest.split_once('"') else {
            let why = "a quote is never closed";
            let error = io::Error::new(ErrorKind::InvalidData, why);
            return Err(Traced::raised_in("parse_links", error));
        };
        links.push(link.to_owned());
        page = rest;
    }
    Ok(links)
}
// ANCHOR_END: read_page

/// The largest page, in bytes.
const LIMIT: usize = 64 * 1024;

fn main() -> io::Result<()> {
    let address = serve()?;
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop();
    let result = runtime.run_until_complete(crawl(event_loop, address))?;
    if let Err(error) = result.traced_in("main") {
        println!("{error}");
    }
    Ok(())
}

/// A site of two pages, one of them malformed, and a path with no answer.
fn serve() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || -> io::Result<()> {
        for stream in listener.incoming() {
            answer(stream?)?;
        }
        Ok(())
    });
    Ok(address)
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    // Reads up to the blank line. If a socket is closed with unread bytes in
    // it, the peer gets a connection reset.
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let page = match request.split(' ').nth(1) {
        Some("/") => r#"<a href="/nothing">nothing</a>, <a href="/malformed">malformed</a>"#,
        Some("/malformed") => r#"<a href="/">home</a>, <a href="/again>again</a>"#,
        _ => return Ok(()),
    };
    write!(stream, "HTTP/1.0 200 OK\r\n\r\n{page}")
}
