//! The chapter's `fetch` as a generator. It yields a future wherever it has to wait, a
//! callback of the selector resolves that future, and a `Task` of fifteen lines resumes
//! the generator. First `fetch` is one function. Then `read` and `read_all` are factored
//! out of it, and the `Task` stays as it is.
//!
//! `cargo run -p stage2-coroutines --example chapter_fetch`
#![allow(clippy::print_stdout)] // An example may print.

use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind::WouldBlock, Read, Write};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use demo_site::scripted::Server;
use selector_core::{Interest::Readable, Interest::Writable, Key, Selector, Socket};
use stage2_coroutines::generator::{self, AsyncGenerator, CoroutineState, Generator, Sent, Thrown};

type DoneCallback = Box<dyn FnOnce(&Future)>;

/// A generator that yields the futures it has to wait for, and is sent their results.
type Coroutine = Box<dyn Generator<Input = Vec<u8>, Yield = Rc<Future>, Return = ()>>;
type Channel = generator::Channel<Vec<u8>, Rc<Future>>;

// ANCHOR: future
/// A result that is not there yet. It will be some bytes, nothing, or an error.
struct Future {
    result: Cell<Sent<Vec<u8>>>,
    callbacks: RefCell<Vec<DoneCallback>>,
}

impl Future {
    fn new() -> Rc<Self> {
        Rc::new(Self { result: Cell::new(Ok(None)), callbacks: RefCell::default() })
    }

    fn add_done_callback(&self, callback: impl FnOnce(&Self) + 'static) {
        self.callbacks.borrow_mut().push(Box::new(callback));
    }

    /// Resolves the future and calls its callbacks, here and now.
    fn set_result(&self, result: Sent<Vec<u8>>) {
        self.result.set(result);
        for callback in self.callbacks.take() {
            callback(self);
        }
    }
}
// ANCHOR_END: future

// ANCHOR: task
/// The driver of one generator.
struct Task(RefCell<Coroutine>);

impl Task {
    fn start(coro: Coroutine) {
        let f = Future::new();
        f.set_result(Ok(None));
        Rc::new(Self(coro.into())).step(&f);
    }

    /// Sends the result of `future` into the generator, which runs to its next `yield`.
    fn step(self: Rc<Self>, future: &Future) {
        let resumed = self.0.borrow_mut().advance(future.result.replace(Ok(None)));
        match resumed {
            Ok(CoroutineState::Yielded(next_future)) => {
                next_future.add_done_callback(|future| self.step(future));
            }
            Ok(CoroutineState::Complete(())) => {}
            Err(error) => println!("  a fetch has failed: {error}"),
        }
    }
}
// ANCHOR_END: task

/// The selector, and under the key of each socket the callback that waits for it.
type SharedSelector = Rc<RefCell<Selector<Box<dyn FnOnce()>>>>;

/// A socket and its key. A generator and its callbacks share it.
struct Sock {
    socket: RefCell<Socket>,
    key: Key,
    selector: SharedSelector,
}

impl Sock {
    /// Begins to connect.
    fn connect(selector: &SharedSelector, address: SocketAddr) -> io::Result<Rc<Self>> {
        let (socket, key) = selector.borrow_mut().connect(address)?;
        Ok(Rc::new(Self { socket: socket.into(), key, selector: Rc::clone(selector) }))
    }

    /// Returns nothing, or the reason why the attempt to connect has failed.
    fn connected(&self) -> Sent<Vec<u8>> {
        self.socket.borrow().connected()?;
        Ok(None)
    }

    /// Receives what has arrived, at most 4 KiB. No bytes are the end. `None` means that
    /// nothing has arrived yet.
    fn recv(&self) -> Sent<Vec<u8>> {
        let mut chunk = vec![0; 4096];
        match self.socket.borrow_mut().read(&mut chunk) {
            Ok(length) => Ok(Some(chunk[..length].to_vec())),
            Err(error) if error.kind() == WouldBlock => {
                self.selector.borrow_mut().clear(self.key, Readable);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Sock {
    fn drop(&mut self) {
        drop(self.selector.borrow_mut().unregister(self.key));
    }
}

/// The fetch of one URL.
struct Fetcher {
    selector: SharedSelector,
    site: SocketAddr,
    url: &'static str,
}

impl Fetcher {
    // ANCHOR: one_piece
    fn fetch_in_one_piece(self) -> Coroutine {
        Box::new(AsyncGenerator::new(async move |channel: Channel| {
            let sock = Sock::connect(&self.selector, self.site)?;

            let f = Future::new();
            let (resolved, writable) = (Rc::clone(&f), Rc::clone(&sock));
            let on_connected = move || resolved.set_result(writable.connected());
            self.selector.borrow_mut().register(sock.key, Writable, Box::new(on_connected));
            // In Python: `yield f`.
            channel.give(f).await?;
            println!("  connected");

            sock.socket.borrow_mut().write_all(self.request().as_bytes())?;
            let mut response = Vec::new();
            loop {
                let f = Future::new();
                let (resolved, readable) = (Rc::clone(&f), Rc::clone(&sock));
                let on_readable = move || resolved.set_result(readable.recv());
                self.selector.borrow_mut().register(sock.key, Readable, Box::new(on_readable));
                // In Python: `chunk = yield f`.
                match channel.give(f).await? {
                    Some(chunk) if chunk.is_empty() => break,
                    Some(chunk) => response.extend(chunk),
                    // The event came too early: wait once more.
                    None => {}
                }
            }
            println!("  {}: {} bytes", self.url, response.len());
            Ok(())
        }))
    }
    // ANCHOR_END: one_piece

    // ANCHOR: fetch
    fn fetch(self) -> Coroutine {
        Box::new(AsyncGenerator::new(async move |channel: Channel| {
            let sock = connect(&channel, &self.selector, self.site).await?;
            println!("  connected");
            sock.socket.borrow_mut().write_all(self.request().as_bytes())?;
            let response = read_all(&channel, &sock).await?;
            println!("  {}: {} bytes", self.url, response.len());
            Ok(())
        }))
    }
    // ANCHOR_END: fetch

    fn request(&self) -> String {
        format!("GET {} HTTP/1.0\r\nHost: example\r\n\r\n", self.url)
    }
}

/// Connects to the site.
async fn connect(
    channel: &Channel,
    selector: &SharedSelector,
    site: SocketAddr,
) -> Result<Rc<Sock>, Thrown> {
    let sock = Sock::connect(selector, site)?;
    let f = Future::new();
    let (resolved, writable) = (Rc::clone(&f), Rc::clone(&sock));
    let on_connected = move || resolved.set_result(writable.connected());
    selector.borrow_mut().register(sock.key, Writable, Box::new(on_connected));
    channel.give(f).await?;
    Ok(sock)
}

// ANCHOR: read
/// Receives one chunk, which is empty at the end of the response.
async fn read(channel: &Channel, sock: &Rc<Sock>) -> Result<Vec<u8>, Thrown> {
    loop {
        let f = Future::new();
        let (resolved, readable) = (Rc::clone(&f), Rc::clone(sock));
        let on_readable = move || resolved.set_result(readable.recv());
        sock.selector.borrow_mut().register(sock.key, Readable, Box::new(on_readable));
        if let Some(chunk) = channel.give(f).await? {
            return Ok(chunk);
        }
    }
}

/// Receives the whole response.
async fn read_all(channel: &Channel, sock: &Rc<Sock>) -> Result<Vec<u8>, Thrown> {
    let mut response = Vec::new();
    loop {
        // In Python: `chunk = yield from read(sock)`.
        let chunk = read(channel, sock).await?;
        if chunk.is_empty() {
            return Ok(response);
        }
        response.extend(chunk);
    }
}
// ANCHOR_END: read

// ANCHOR: loop
/// Calls the callback of each socket that is ready, as long as any socket is open.
fn run(selector: &SharedSelector) -> io::Result<()> {
    let mut ready_keys = Vec::new();
    while !selector.borrow().is_empty() {
        selector.borrow_mut().select(None, &mut ready_keys)?;
        for &key in &ready_keys {
            let callback = selector.borrow_mut().take(key);
            if let Some(callback) = callback {
                callback();
            }
        }
    }
    Ok(())
}
// ANCHOR_END: loop

fn main() -> io::Result<()> {
    let server = Server::start(|request, reply| {
        if request.path() == "/slow" {
            reply.sleep(Duration::from_millis(200));
        }
        reply.page("hello ".repeat(2000));
    })?;
    let selector = Rc::new(RefCell::new(Selector::new()?));
    let fetcher = |url| Fetcher { selector: Rc::clone(&selector), site: server.address(), url };
    // ANCHOR: main
    println!("in one piece:");
    Task::start(fetcher("/page").fetch_in_one_piece());
    run(&selector)?;

    println!("by delegation, two at once:");
    Task::start(fetcher("/slow").fetch());
    Task::start(fetcher("/page").fetch());
    run(&selector)
    // ANCHOR_END: main
}
