//! The chapter's first program: a fetcher of callbacks on the bare event loop.
//! `fetch` leads to `connected`, and that leads to `read_response`.
//!
//! `cargo run -p stage1-callbacks --example chapter_fetcher`
#![allow(clippy::print_stdout)] // An example may print.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{self, ErrorKind::WouldBlock, Read, Write};
use std::rc::Rc;

use demo_site::scripted::Server;
use selector_core::{Interest::Readable, Interest::Writable, Key, Socket};
use stage1_callbacks::EventLoop;
use web::links::{ExtractOptions, LinkExtractor};

// ANCHOR: fetcher
// ANCHOR: state
/// The chapter's global variables, but for those that are in the loop: `selector` and
/// `stopped`.
struct Crawl {
    site: Server,
    urls_todo: RefCell<HashSet<String>>,
    seen_urls: RefCell<HashSet<String>>,
}

/// The fetch of one URL. It travels from callback to callback.
struct Fetcher {
    crawl: Rc<Crawl>,
    url: String,
    response: Vec<u8>,
    socket: Socket,
    key: Key,
}

type Loop = EventLoop<Fetcher>;
// ANCHOR_END: state

impl Fetcher {
    // ANCHOR: begin
    /// Begins to connect.
    fn new(crawl: Rc<Crawl>, url: &str, event_loop: &mut Loop) -> io::Result<Self> {
        crawl.seen_urls.borrow_mut().insert(url.to_owned());
        let (socket, key) = event_loop.selector.connect(crawl.site.address())?;
        crawl.urls_todo.borrow_mut().insert(url.to_owned());
        Ok(Self { crawl, url: url.to_owned(), response: Vec::new(), socket, key })
    }

    /// Waits until the attempt to connect has succeeded or failed.
    fn fetch(self: Box<Self>, event_loop: &mut Loop) {
        event_loop.selector.clear(self.key, Writable);
        event_loop.register(self.key, Writable, self, Self::connected);
    }
    // ANCHOR_END: begin

    // ANCHOR: connected
    /// Sends the request, unless the attempt has failed.
    fn connected(mut self: Box<Self>, event_loop: &mut Loop) {
        let request = format!("GET {} HTTP/1.0\r\nHost: example\r\n\r\n", self.url);
        let connected = self.socket.connected();
        match connected.and_then(|_| self.socket.write_all(request.as_bytes())) {
            Ok(_) => event_loop.register(self.key, Readable, self, Self::read_response),
            // A spurious event: it is not connected yet.
            Err(error) if error.kind() == WouldBlock => self.fetch(event_loop),
            Err(error) => self.done(&error.to_string(), event_loop),
        }
    }
    // ANCHOR_END: connected

    // ANCHOR: read_response
    /// Reads all that has arrived, since there is no second event for it.
    fn read_response(mut self: Box<Self>, event_loop: &mut Loop) {
        match self.socket.read_to_end(&mut self.response) {
            Ok(_) => self.done("read to its end", event_loop),
            Err(error) if error.kind() == WouldBlock => {
                event_loop.selector.clear(self.key, Readable);
                event_loop.register(self.key, Readable, self, Self::read_response);
            }
            Err(error) => self.done(&error.to_string(), event_loop),
        }
    }
    // ANCHOR_END: read_response

    // ANCHOR: done
    /// Ends the fetch and starts one for each new link. The last fetch of all
    /// stops the loop.
    fn done(&self, reason: &str, event_loop: &mut Loop) {
        println!("{} {reason}", self.url);
        drop(event_loop.selector.unregister(self.key));
        let new_links = &self.parse_links() - &*self.crawl.seen_urls.borrow();
        for link in &new_links {
            match Self::new(Rc::clone(&self.crawl), link, event_loop) {
                Ok(fetcher) => Box::new(fetcher).fetch(event_loop),
                Err(error) => println!("{link} {error}"),
            }
        }
        self.crawl.urls_todo.borrow_mut().remove(&self.url);
        if self.crawl.urls_todo.borrow().is_empty() {
            // The chapter's `stopped = True`.
            event_loop.stop();
        }
    }
    // ANCHOR_END: done

    fn parse_links(&self) -> HashSet<String> {
        let mut extractor = LinkExtractor::new(ExtractOptions::default());
        extractor.feed(&self.response);
        extractor.finish().links().map(|link| link.href.to_owned()).collect()
    }
}

fn main() -> io::Result<()> {
    let site = Server::start(|_, reply| reply.page("<a href=/1></a> <a href=/2></a> <a href=/>"))?;
    let crawl = Crawl { site, urls_todo: RefCell::default(), seen_urls: RefCell::default() };
    let mut event_loop = EventLoop::new()?;
    Box::new(Fetcher::new(Rc::new(crawl), "/", &mut event_loop)?).fetch(&mut event_loop);
    event_loop.run()
}
// ANCHOR_END: fetcher
