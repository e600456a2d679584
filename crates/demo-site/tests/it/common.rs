//! A test client: plain blocking sockets and an HTTP parser of its own.

#![allow(dead_code, clippy::unwrap_used, missing_docs, unreachable_pub)]

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// The timeout of every read and write: no test takes this long.
const TIMEOUT: Duration = Duration::from_secs(8);

/// A connection to the site.
pub struct Client {
    pub stream: TcpStream,
    unread: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Response {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (candidate, value) = line.split_once(':')?;
            candidate.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect_timeout(&address, TIMEOUT).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(TIMEOUT)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, unread: Vec::new() }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    pub fn get(&mut self, target: &str) -> Response {
        self.send(request(target));
        self.response()
    }

    /// Reads the response to a request that was not HEAD.
    pub fn response(&mut self) -> Response {
        let mut response = self.head();
        response.body = if response.field("transfer-encoding") == Some("chunked") {
            self.chunks()
        } else if let Some(length) = response.field("content-length") {
            self.take(length.parse().unwrap())
        } else {
            self.rest()
        };
        response
    }

    /// Reads the head of a response.
    pub fn head(&mut self) -> Response {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            head += &self.line();
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Response { status, head, body: Vec::new() }
    }

    /// Reads to the end of the connection.
    pub fn rest(&mut self) -> Vec<u8> {
        self.stream.read_to_end(&mut self.unread).unwrap();
        std::mem::take(&mut self.unread)
    }

    /// Waits for the end of the connection; returns true if nothing came before it.
    pub fn is_at_end(&mut self) -> bool {
        self.rest().is_empty()
    }

    /// Reads a line with its line break.
    pub fn line(&mut self) -> String {
        loop {
            if let Some(at) = self.unread.windows(2).position(|pair| pair == b"\r\n") {
                return String::from_utf8(self.take(at + 2)).unwrap();
            }
            self.read_more();
        }
    }

    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let line = self.line();
            let size = line.split([';', '\r']).next().unwrap();
            match usize::from_str_radix(size, 16).unwrap() {
                0 => break,
                size => body.extend(self.take(size)),
            }
            assert_eq!(self.line(), "\r\n");
        }
        while self.line() != "\r\n" {}
        body
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        while self.unread.len() < count {
            self.read_more();
        }
        self.unread.drain(..count).collect()
    }

    /// Reads what there is. A read that a signal interrupts, or a stop of the process, is
    /// repeated.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn read_more(&mut self) {
        let mut piece = [0; 16 * 1024];
        let count = self.read(&mut piece).unwrap();
        assert!(count > 0, "the connection ended within a message");
        self.unread.extend(&piece[..count]);
    }
}

pub fn request(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: test\r\n\r\n")
}

/// Sends one request over a new connection and reads the response.
pub fn get(address: SocketAddr, target: &str) -> Response {
    Client::connect(address).get(target)
}

/// Waits until this is true; fails after some seconds.
pub fn wait_until(mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < TIMEOUT, "it never happens");
        thread::sleep(Duration::from_millis(1));
    }
}
