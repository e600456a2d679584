//! The chapter's last program: workers around a bare `JoinableQueue`, the set of
//! URLs that were seen, and a budget of redirects that travels with each URL.
//!
//! `cargo run -p stage3-queue --example chapter_crawler`
#![allow(clippy::print_stdout)] // An example may print.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::rc::Rc;

use demo_site::scripted::Server;
use stage2_coroutines::{EventLoop, Task, connect, read, system_runtime, write_all};
use stage3_queue::JoinableQueue;
use transport::TlsLayer;
use web::links::{ExtractOptions, LinkExtractor};

// ANCHOR: crawler
const MAX_TASKS: usize = 2;
const MAX_REDIRECT: u32 = 3;

struct Crawler {
    event_loop: EventLoop,
    site: Server,
    /// The URLs to fetch, each with the number of redirects left.
    q: JoinableQueue<(String, u32)>,
    seen_urls: RefCell<HashSet<String>>,
}

impl Crawler {
    // ANCHOR: crawl
    /// Runs the workers until all work is done.
    async fn crawl(self: &Rc<Self>) {
        self.add_url("/", MAX_REDIRECT);
        let work = |_| Task::spawn(&self.event_loop, Rc::clone(self).work());
        let workers: Vec<Task<()>> = (0..MAX_TASKS).map(work).collect();
        self.q.join().await;
        // They wait for URLs, and there will be no more.
        for worker in workers {
            worker.cancel();
        }
    }
    // ANCHOR_END: crawl

    // ANCHOR: work
    async fn work(self: Rc<Self>) {
        loop {
            let item = self.q.get().await;
            let (url, redirects_left) = &*item;
            if let Err(error) = self.fetch(url, *redirects_left).await {
                println!("{url} {error}");
            }
            // Only now, when the URLs that it led to are in the queue.
            item.task_done();
        }
    }
    // ANCHOR_END: work

    /// Downloads a page and adds its links, or the target of its redirect.
    async fn fetch(&self, url: &str, redirects_left: u32) -> io::Result<()> {
        println!("{url} {redirects_left} redirects left");
        let response = self.get(url).await?;
        let (head, body) = response.split_once("\r\n\r\n").ok_or(ErrorKind::UnexpectedEof)?;
        match head.lines().find_map(|line| line.strip_prefix("Location: ")) {
            Some(next_url) if redirects_left > 0 => self.add_url(next_url, redirects_left - 1),
            Some(_) => println!("{url} redirects too often"),
            None => {
                let mut extractor = LinkExtractor::new(ExtractOptions::default());
                extractor.feed(body.as_bytes());
                extractor.finish().links().for_each(|link| self.add_url(link.href, MAX_REDIRECT));
            }
        }
        Ok(())
    }

    async fn get(&self, url: &str) -> io::Result<String> {
        let mut stream = connect(&self.event_loop, self.site.address(), TlsLayer::plain()).await?;
        let request = format!("GET {url} HTTP/1.0\r\nHost: example\r\n\r\n");
        write_all(&mut stream, request.as_bytes()).await?;
        let mut response = Vec::new();
        while read(&mut stream, |bytes| response.extend_from_slice(bytes)).await?.is_some() {}
        Ok(String::from_utf8_lossy(&response).into_owned())
    }

    /// Puts a URL in, unless it was seen.
    fn add_url(&self, url: &str, redirects_left: u32) {
        if self.seen_urls.borrow_mut().insert(url.to_owned()) {
            self.q.put_nowait((url.to_owned(), redirects_left));
        }
    }
}
// ANCHOR_END: crawler

fn main() -> io::Result<()> {
    let site = Server::start(|request, reply| match request.path() {
        "/" | "/new" => reply.page("<a href=/old>old</a> <a href=/loop/1>loop</a>"),
        "/old" => reply.status(301, "Moved Permanently", &[("Location", "/new")], ""),
        path => reply.status(302, "Found", &[("Location", &format!("{path}1"))], ""),
    })?;
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop().clone();
    let q = JoinableQueue::new(&event_loop);
    let crawler = Rc::new(Crawler { event_loop, site, q, seen_urls: RefCell::default() });
    runtime.run_until_complete(crawler.crawl())
}
