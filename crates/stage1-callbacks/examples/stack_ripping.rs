//! Stack ripping: a page is malformed, and the stack does not show which call
//! started its fetch. By the time a callback fails, the functions that started
//! the fetch have long returned. Compare stage 2's example `tracebacks`.
#![allow(clippy::print_stdout)]

use std::backtrace::Backtrace;
use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use selector_core::{Interest, Key, Socket};
use stage1_callbacks::EventLoop;
use transport::{Stream, TlsLayer};

fn main() -> io::Result<()> {
    let address = serve()?;
    let mut event_loop = EventLoop::new()?;
    crawl(&mut event_loop, address)?;
    event_loop.run()
}

// ANCHOR: fetch
/// The state that has to live from one callback to the next.
struct Fetch {
    stream: Stream<Socket>,
    key: Key,
    response: Vec<u8>,
}

// ANCHOR: begun
fn crawl(event_loop: &mut EventLoop<Fetch>, address: SocketAddr) -> io::Result<()> {
    fetch(event_loop, address)
}

fn fetch(event_loop: &mut EventLoop<Fetch>, address: SocketAddr) -> io::Result<()> {
    println!("begun in:");
    print_stack();
    let layer = TlsLayer::plain();
    let (socket, key) = event_loop.selector.connect(address)?;
    let fetch = Fetch { stream: Stream::new(socket, layer), key, response: Vec::new() };
    event_loop.register(key, Interest::Writable, Box::new(fetch), Fetch::connected);
    Ok(())
}
// ANCHOR_END: begun

impl Fetch {
    fn connected(mut self: Box<Self>, event_loop: &mut EventLoop<Self>) {
        match self.stream.socket().connected() {
            Ok(true) => match self.stream.write(REQUEST) {
                Ok(length) if length == REQUEST.len() => self.wait(event_loop),
                Ok(_) => failed(&ErrorKind::WriteZero.into(), event_loop),
                Err(error) => failed(&error, event_loop),
            },
            Ok(false) => {
                let key = self.key;
                event_loop.selector.clear(key, Interest::Writable);
                event_loop.register(key, Interest::Writable, self, Self::connected);
            }
            Err(error) => failed(&error, event_loop),
        }
    }

    fn wait(self: Box<Self>, event_loop: &mut EventLoop<Self>) {
        event_loop.register(self.key, Interest::Readable, self, Self::read_response);
    }

    fn read_response(mut self: Box<Self>, event_loop: &mut EventLoop<Self>) {
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(_) if self.response.len() > LIMIT => {
                    let error = Error::new(ErrorKind::InvalidData, "the page is too large");
                    return failed(&error, event_loop);
                }
                Ok(length) => self.response.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    event_loop.selector.clear(self.key, Interest::Readable);
                    return self.wait(event_loop);
                }
                Err(error) => return failed(&error, event_loop),
            }
        }
        match parse_links(&String::from_utf8_lossy(&self.response)) {
            Ok(links) => {
                println!("{links:?}");
                event_loop.stop();
            }
            Err(error) => failed(&error, event_loop),
        }
    }
}

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

// ANCHOR: failed
/// Handles an error. There is no caller to return it to, and none to catch it:
/// the only thing that a callback can reach is the loop.
fn failed(error: &Error, event_loop: &mut EventLoop<Fetch>) {
    println!("error: {error}");
    event_loop.stop();
}
// ANCHOR_END: failed
// ANCHOR_END: fetch

const REQUEST: &[u8] = b"GET /malformed HTTP/1.0\r\n\r\n";

/// The maximum size of a page, in bytes.
const LIMIT: usize = 64 * 1024;

/// Prints the stack, outermost first: the functions of this example, and those
/// of the loop. (An optimised build may have merged some of them.)
fn print_stack() {
    let backtrace = Backtrace::force_capture().to_string();
    let functions: Vec<&str> = backtrace.lines().filter_map(function).collect();
    for function in functions.into_iter().rev().filter(|&name| name != "print_stack") {
        println!("  {function}");
    }
}

/// Returns the name in a line of a backtrace, if it is a function of this
/// workspace. The line has a number, and the name with its path.
fn function(line: &str) -> Option<&str> {
    let (_, path) = line.split_once(": ")?;
    let crate_path = path.trim_start_matches('<');
    let is_ours = crate_path.starts_with("stack_ripping::") || crate_path.starts_with("stage1_");
    is_ours.then(|| path.rsplit("::").next())?
}

/// Serves a site of one page, which is malformed.
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
    // Reads up to the blank line: a socket that is closed with unread bytes
    // resets the connection.
    for line in BufReader::new(stream.try_clone()?).lines() {
        if line?.is_empty() {
            break;
        }
    }
    stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n<a href=\"/\">home</a>, <a href=\"/again>again</a>")
}
