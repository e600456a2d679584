//! A world of a few servers, in which waiting takes no time.
//!
//! Every address is a server that answers at once, or after a while by a clock
//! that jumps. What is asked, and when, is written down. A crawl that hangs
//! ends with an error, for there is nothing left to wait for.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crawl_core::{Ending, Options, Row};
use selector_core::{Event, Key, Notifier, Readiness, ScriptedSocket, Socket, World};
use stage2_coroutines::{EventLoop, Stats};
use stage3_queue::Crawler;

/// Whoever connects to this address is refused.
pub const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0));

/// What was asked, of whom, and how long after the beginning.
#[derive(Clone, Debug)]
pub struct Asked {
    pub host: String,
    pub path: String,
    pub at: Duration,
}

/// An answer, and how long it takes.
pub struct Answer {
    pub after: Duration,
    pub bytes: Vec<u8>,
}

/// An answer with this status line, these headers and this body.
pub fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Answer {
    let body = body.as_ref();
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n");
    Answer { after: Duration::ZERO, bytes: [head.as_bytes(), body].concat() }
}

pub fn page<T: AsRef<str>>(targets: impl IntoIterator<Item = T>) -> Answer {
    let link = |target: T| format!("<a href=\"{}\">link</a>\n", target.as_ref());
    let html: String = targets.into_iter().map(link).collect();
    answer("200 OK", "Content-Type: text/html\r\n", html)
}

pub fn text(text: impl AsRef<[u8]>) -> Answer {
    answer("200 OK", "Content-Type: text/plain\r\n", text)
}

pub fn not_found() -> Answer {
    answer("404 Not Found", "", "")
}

pub fn redirect(location: &str) -> Answer {
    answer("302 Found", &format!("Location: {location}\r\n"), "")
}

/// Nothing, ever.
pub fn silence() -> Answer {
    Answer { after: Duration::from_secs(1_000_000), bytes: Vec::new() }
}

impl Answer {
    pub fn after(mut self, after: Duration) -> Self {
        self.after = after;
        self
    }
}

type Handler = dyn FnMut(&Asked) -> Answer;

/// What the servers and the clock share.
struct Village {
    begun: Instant,
    now: Cell<Instant>,
    news: RefCell<BinaryHeap<Reverse<(Instant, u64, bool)>>>,
    handler: RefCell<Box<Handler>>,
    log: RefCell<Vec<Asked>>,
}

struct VillageWorld(Rc<Village>);

impl World for VillageWorld {
    fn now(&self) -> Instant {
        self.0.now.get()
    }

    fn connect(&mut self, address: SocketAddr, key: Key) -> io::Result<Socket> {
        if address.ip() == NOBODY {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        let village = Rc::clone(&self.0);
        village.news.borrow_mut().push(Reverse((self.now(), key.to_bits(), true)));
        let (request, response) = (Vec::new(), Vec::new());
        Ok(Socket::scripted(Line { village, key, request, ready: Vec::new(), response }))
    }

    fn wait(&mut self, timeout: Option<Duration>, news: &mut Vec<Event>) -> io::Result<()> {
        let village = &self.0;
        let mut pending = village.news.borrow_mut();
        let next = pending.peek().map(|Reverse((at, ..))| *at);
        let until = timeout.map(|timeout| village.now.get() + timeout);
        let Some(moment) = next.into_iter().chain(until).min() else {
            return Err(io::Error::new(ErrorKind::Deadlock, "everybody waits for nothing"));
        };
        village.now.set(village.now.get().max(moment));
        while let Some(Reverse((at, key, writable))) = pending.peek().copied()
            && at <= village.now.get()
        {
            pending.pop();
            let readiness = if writable { Readiness::WRITABLE } else { Readiness::READABLE };
            news.push(Event { key: Key::from_bits(key), readiness });
        }
        Ok(())
    }

    fn notifier(&self) -> Notifier {
        // Nobody is to be looked up: all hosts are addresses.
        Notifier::new(|| ())
    }
}

/// A connection to one of the servers.
struct Line {
    village: Rc<Village>,
    key: Key,
    request: Vec<u8>,
    /// Answers that take until some moment.
    ready: Vec<(Instant, Vec<u8>)>,
    response: Vec<u8>,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Line")
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.request.extend_from_slice(bytes);
        if self.request.ends_with(b"\r\n\r\n") {
            let head = String::from_utf8(std::mem::take(&mut self.request)).unwrap();
            let path = head.split(' ').nth(1).unwrap().to_owned();
            let host = head.lines().find_map(|line| line.strip_prefix("Host: ")).unwrap();
            let now = self.village.now.get();
            let at = now - self.village.begun;
            let asked = Asked { host: host.to_owned(), path, at };
            self.village.log.borrow_mut().push(asked.clone());
            let answer = (self.village.handler.borrow_mut())(&asked);
            let moment = now + answer.after;
            self.ready.push((moment, answer.bytes));
            self.village.news.borrow_mut().push(Reverse((moment, self.key.to_bits(), false)));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let now = self.village.now.get();
        for (_, bytes) in self.ready.extract_if(.., |(moment, _)| *moment <= now) {
            self.response.extend(bytes);
        }
        let length = self.response.len().min(buffer.len());
        if length == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        buffer[..length].copy_from_slice(&self.response[..length]);
        self.response.drain(..length);
        if !self.response.is_empty() {
            // There is more, of which the loop hears once more.
            let news = Reverse((now, self.key.to_bits(), false));
            self.village.news.borrow_mut().push(news);
        }
        Ok(length)
    }
}

impl ScriptedSocket for Line {
    fn connected(&self) -> io::Result<bool> {
        Ok(true)
    }
}

/// What came of a crawl.
pub struct Crawled {
    pub rows: Vec<Row>,
    pub ending: Ending,
    pub asked: Vec<Asked>,
    /// By the clock of the village.
    pub took: Duration,
    pub stats: Stats,
}

/// Crawls a village and checks what holds for every crawl.
pub fn crawl(options: Options, handler: impl FnMut(&Asked) -> Answer + 'static) -> Crawled {
    let begun = Instant::now();
    let village = Rc::new(Village {
        begun,
        now: Cell::new(begun),
        news: RefCell::default(),
        handler: RefCell::new(Box::new(handler)),
        log: RefCell::default(),
    });
    let nobody = |host: &str, _| panic!("{host} is looked up");
    let event_loop = EventLoop::in_world(VillageWorld(Rc::clone(&village)), Arc::new(nobody));
    let rows = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&rows);
    let crawler =
        Crawler::new(&event_loop, options, Box::new(move |row| sink.lock().unwrap().push(row)));
    let ending = event_loop.run_until_complete(crawler.crawl()).unwrap();
    let stats = event_loop.stats();
    drop(crawler);
    event_loop.close();
    assert_eq!(event_loop.pending_tasks(), 0);
    assert_eq!(event_loop.pending_timers(), 0);
    assert_eq!(event_loop.connections(), 0);
    let rows = std::mem::take(&mut *rows.lock().unwrap());
    assert_eq!(ending.done, rows.len() as u64, "{rows:#?}");
    assert_eq!(ending.admission.seen() as u64, ending.done + ending.todo, "{rows:#?}");
    let (asked, took) = (village.log.take(), village.now.get() - begun);
    Crawled { rows, ending, asked, took, stats }
}

impl Crawled {
    /// The row of a URL.
    #[track_caller]
    pub fn row(&self, url: &str) -> &Row {
        let mut of_url = self.rows.iter().filter(|row| &*row.url == url);
        let row = of_url.next().unwrap_or_else(|| panic!("no row for {url}: {:#?}", self.rows));
        assert!(of_url.next().is_none(), "two rows for {url}");
        row
    }

    /// When a host was asked for something of it, and for what.
    pub fn asked_of(&self, host: &str) -> Vec<(&str, Duration)> {
        let of_host = self.asked.iter().filter(|asked| asked.host == host);
        of_host.map(|asked| (asked.path.as_str(), asked.at)).collect()
    }

    /// How often a path was asked for, of whichever host.
    pub fn times(&self, path: &str) -> usize {
        self.asked.iter().filter(|asked| asked.path == path).count()
    }
}
