//! The malformed page of stage 1's example `stack_ripping`, fetched by a
//! coroutine: a backtrace shows the whole chain of callers.
#![allow(clippy::print_stdout)]

use std::backtrace::Backtrace;
use std::io::{self, BufRead, BufReader, Error, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::thread;

use stage2_coroutines::{
    Connection, EventLoop, Task, connect, read_all, system_runtime, write_all,
};
use transport::TlsLayer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = serve()?;
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop();
    let task = Task::spawn(event_loop, crawl(event_loop.clone(), address));
    runtime.run_until_complete(task)??;
    Ok(())
}

// ANCHOR: crawl
async fn crawl(event_loop: EventLoop, address: SocketAddr) {
    // One place that receives every error of the functions below. A chain of
    // callbacks has no such place.
    match fetch(&event_loop, address).await {
        Ok(links) => println!("{links:?}"),
        Err(error) => println!("caught in crawl: {error}"),
    }
}

async fn fetch(event_loop: &EventLoop, address: SocketAddr) -> io::Result<Vec<String>> {
    println!("begun in:");
    print_stack();
    let mut connection = connect(event_loop, address, TlsLayer::plain()).await?;
    write_all(&mut connection, REQUEST).await?;
    let response = read_page(&mut connection).await?;
    parse_links(&response)
}

async fn read_page(connection: &mut Connection) -> io::Result<String> {
    let mut response = Vec::new();
    let too_large = read_all(connection, |bytes| {
        response.extend_from_slice(bytes);
        let is_too_large = response.len() > LIMIT;
        if is_too_large { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    match too_large.await? {
        Some(()) => Err(Error::new(ErrorKind::InvalidData, "the page is too large")),
        None => Ok(String::from_utf8_lossy(&response).into_owned()),
    }
}
// ANCHOR_END: crawl

fn parse_links(mut page: &str) -> io::Result<Vec<String>> {
    let mut links = Vec::new();
    while let Some((_, rest)) = page.split_once("href=\"") {
        let Some((link, rest)) = rest.split_once('"') else {
            println!("failed in:");
            print_stack();
            return Err(Error::new(ErrorKind::InvalidData, "a quote is never closed"));
        };
        links.push(link.to_owned());
        page = rest;
    }
    Ok(links)
}

const REQUEST: &[u8] = b"GET /malformed HTTP/1.0\r\n\r\n";

/// The largest page, in bytes.
const LIMIT: usize = 64 * 1024;

/// Prints the stack, outermost first: the functions of this example and those of
/// the runtime. (An optimised build may have merged some of them.)
fn print_stack() {
    let backtrace = Backtrace::force_capture().to_string();
    let mut functions: Vec<&str> = backtrace.lines().filter_map(function).collect();
    // A function and a closure in it are printed as one.
    functions.dedup();
    for function in functions.into_iter().rev().filter(|&name| name != "print_stack") {
        println!("  {function}");
    }
}

/// Returns the name of the function in a line of a backtrace, if it is one of
/// ours. The line has a number, and the name with its path. The body of an
/// `async fn` is a closure in it.
fn function(line: &str) -> Option<&str> {
    let (_, path) = line.split_once(": ")?;
    let crate_path = path.trim_start_matches('<');
    let is_ours = crate_path.starts_with("whole_stack::") || crate_path.starts_with("stage2_");
    is_ours.then(|| path.rsplit("::").find(|name| !name.starts_with('{')))?
}

/// A site of one page, which is malformed.
fn serve() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        let (stream, _) = listener.accept()?;
        answer(stream)
    });
    Ok(address)
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    // Reads up to the blank line. If a socket is closed with unread bytes in
    // it, the peer gets a connection reset.
    for line in BufReader::new(stream.try_clone()?).lines() {
        if line?.is_empty() {
            break;
        }
    }
    stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n<a href=\"/\">home</a>, <a href=\"/again>again</a>")
}
