//! The chapter's last program: workers around a bare `JoinableQueue`, the set of
//! URLs that were seen, and a budget of redirects that travels with each URL.
//!
//! `cargo run -p stage3-queue --example chapter_crawler`
#![allow(clippy::print_stdout)] // An example may print.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::rc::Rc;

use demo_site::scripted::Server;
use stage2_coroutines::{EventLoop, Task, connect, read_all, write_all};
use stage3_queue::JoinableQueue;
use transport::TlsLayer;
use web::links::{ExtractOptions, LinkExtractor};

// ANCHOR: crawler
const MAX_TASKS: usize = 2;
const MAX_REDIRECT: u32 = 3;

struct Crawler {
    event_loop: EventLoop,
    address: SocketAddr,
    q: JoinableQueue<(String, u32)>,
    seen_urls: RefCell<HashSet<String>>,
}

impl Crawler {
    /// Runs the workers until all work is done.
    async fn crawl(self: &Rc<Self>) {
        self.put("/", MAX_REDIRECT);
        let work = |_| Task::spawn(&self.event_loop, Rc::clone(self).work());
        let workers: Vec<Task<()>> = (0..MAX_TASKS).map(work).collect();
        self.q.join().await;
        // They wait for URLs, and there will be no more.
        for worker in workers {
            worker.cancel();
        }
    }

    async fn work(self: Rc<Self>) {
        loop {
            // The item is done when it is dropped: after the URLs that it leads to
            // were put in.
            let item = self.q.get().await;
            let (url, redirects_left) = &*item;
            match self.fetch(url).await {
                Ok(response) => self.take_response(url, *redirects_left, &response),
                Err(error) => println!("{url} {error}"),
            }
        }
    }

    async fn fetch(&self, url: &str) -> io::Result<Vec<u8>> {
        let mut connection = connect(&self.event_loop, self.address, TlsLayer::plain()).await?;
        let request = format!("GET {url} HTTP/1.0\r\nHost: example\r\n\r\n");
        write_all(&mut connection, request.as_bytes()).await?;
        let mut response = Vec::new();
        let keep = |bytes: &[u8]| {
            response.extend_from_slice(bytes);
            ControlFlow::<()>::Continue(())
        };
        read_all(&mut connection, keep).await?;
        Ok(response)
    }

    fn take_response(&self, url: &str, redirects_left: u32, response: &[u8]) {
        let text = String::from_utf8_lossy(response);
        match text.lines().find_map(|line| line.strip_prefix("Location: ")) {
            Some(next_url) if redirects_left > 0 => {
                println!("{url} redirects to {next_url}");
                self.put(next_url, redirects_left - 1);
            }
            Some(_) => println!("{url} redirects too often"),
            None => {
                println!("{url} is a page");
                let mut extractor = LinkExtractor::new(ExtractOptions::default());
                extractor.feed(response);
                let links = extractor.finish();
                links.links().for_each(|link| self.put(link.href, MAX_REDIRECT));
            }
        }
    }

    /// Puts a URL in unless it was seen.
    fn put(&self, url: &str, redirects_left: u32) {
        if self.seen_urls.borrow_mut().insert(url.to_owned()) {
            self.q.put_nowait((url.to_owned(), redirects_left));
        }
    }
}
// ANCHOR_END: crawler

fn main() -> io::Result<()> {
    let site = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/old>old</a> <a href=/loop/1>loop</a>"),
        "/old" => reply.status(301, "Moved Permanently", &[("Location", "/new")], ""),
        "/new" => reply.page("<a href=/>home</a>"),
        path => reply.status(302, "Found", &[("Location", &format!("{path}1"))], ""),
    })?;
    let event_loop = EventLoop::new()?;
    let crawler = Rc::new(Crawler {
        event_loop: event_loop.clone(),
        address: site.address(),
        q: JoinableQueue::new(&event_loop),
        seen_urls: RefCell::default(),
    });
    event_loop.run_until_complete(crawler.crawl())
}
