//! The chapter's first program: a fetcher of three callbacks, `connected`,
//! `read_response` and the `fetch` that starts them, on the bare event loop.
//!
//! `cargo run -p stage1-callbacks --example chapter_fetcher`
#![allow(clippy::print_stdout)] // An example may print.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::rc::Rc;

use demo_site::scripted::Server;
use selector_core::{Interest, Key, Socket};
use stage1_callbacks::EventLoop;
use web::links::{ExtractOptions, LinkExtractor};

type Loop = EventLoop<Fetcher>;

// ANCHOR: fetcher
/// The chapter's global variables.
struct Crawl {
    address: SocketAddr,
    urls_todo: HashSet<String>,
    seen_urls: HashSet<String>,
}

/// One URL on its way through the callbacks.
struct Fetcher {
    crawl: Rc<RefCell<Crawl>>,
    url: String,
    response: Vec<u8>,
    socket: Socket,
    key: Key,
}

impl Fetcher {
    fn new(crawl: &Rc<RefCell<Crawl>>, url: &str, event_loop: &mut Loop) -> io::Result<Box<Self>> {
        let (socket, key) = event_loop.selector.connect(crawl.borrow().address)?;
        let (crawl, url, response) = (Rc::clone(crawl), url.to_owned(), Vec::new());
        Ok(Box::new(Self { crawl, url, response, socket, key }))
    }

    fn fetch(self: Box<Self>, event_loop: &mut Loop) {
        event_loop.register(self.key, Interest::Writable, self, Self::connected);
    }

    fn connected(mut self: Box<Self>, event_loop: &mut Loop) {
        let request = format!("GET {} HTTP/1.0\r\nHost: example\r\n\r\n", self.url);
        match self.socket.connected().and_then(|_| self.socket.write_all(request.as_bytes())) {
            Ok(()) => {
                event_loop.register(self.key, Interest::Readable, self, Self::read_response);
            }
            Err(error) => self.finish(&error.to_string(), event_loop),
        }
    }

    fn read_response(mut self: Box<Self>, event_loop: &mut Loop) {
        let mut chunk = [0; 4096];
        match self.socket.read(&mut chunk) {
            Ok(0) => {
                self.parse_links(event_loop);
                return self.finish("read to its end", event_loop);
            }
            Ok(length) => self.response.extend_from_slice(&chunk[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                event_loop.selector.clear(self.key, Interest::Readable);
            }
            Err(error) => return self.finish(&error.to_string(), event_loop),
        }
        event_loop.register(self.key, Interest::Readable, self, Self::read_response);
    }

    /// Fetches every URL of the page that was never seen.
    fn parse_links(&self, event_loop: &mut Loop) {
        let mut extractor = LinkExtractor::new(ExtractOptions::default());
        extractor.feed(&self.response);
        for link in extractor.finish().links() {
            let is_new = self.crawl.borrow_mut().seen_urls.insert(link.href.to_owned());
            if is_new && let Ok(fetcher) = Self::new(&self.crawl, link.href, event_loop) {
                self.crawl.borrow_mut().urls_todo.insert(link.href.to_owned());
                fetcher.fetch(event_loop);
            }
        }
    }

    /// Ends the fetch: no callback is registered. The last one stops the loop.
    fn finish(&self, reason: &str, event_loop: &mut Loop) {
        println!("{} {reason}", self.url);
        drop(event_loop.selector.unregister(self.key));
        let mut crawl = self.crawl.borrow_mut();
        crawl.urls_todo.remove(&self.url);
        if crawl.urls_todo.is_empty() {
            event_loop.stop();
        }
    }
}

fn main() -> io::Result<()> {
    let page = "<a href=/1>1</a> <a href=/2>2</a> <a href=/>home</a>";
    let site = Server::start(move |_, reply| reply.page(page))?;
    let mut event_loop = EventLoop::new()?;
    let root = HashSet::from(["/".to_owned()]);
    let crawl = Crawl { address: site.address(), urls_todo: root.clone(), seen_urls: root };
    let crawl = Rc::new(RefCell::new(crawl));
    Fetcher::new(&crawl, "/", &mut event_loop)?.fetch(&mut event_loop);
    event_loop.run()?;
    println!("seen: {}", crawl.borrow().seen_urls.len());
    Ok(())
}
// ANCHOR_END: fetcher
