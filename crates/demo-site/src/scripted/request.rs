//! The requests to a scripted server.

use std::io;
use std::net::TcpStream;

use crate::request::{HEAD_LIMIT, Head, head_end, leading_breaks, read_some};

/// A request without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method as received: upper case is not enforced.
    pub method: String,
    /// The path and query.
    pub target: String,
    /// The names and values of the header fields, in their order.
    pub headers: Vec<(String, String)>,
    /// The number of its connection, from 1.
    pub connection: u64,
    /// Its number among the requests of its connection, from 1.
    pub number: u64,
    keep_alive: bool,
}

impl Request {
    /// Returns the target without its query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Returns the value of the first header field of this name, in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let header = headers.find(|(candidate, _)| candidate.eq_ignore_ascii_case(name));
        header.map(|(_, value)| value.as_str())
    }

    /// Returns true if the client wants to keep the connection.
    #[must_use]
    pub fn keep_alive(&self) -> bool {
        self.keep_alive
    }
}

/// Reads the requests of one connection.
pub(super) struct RequestReader<'a> {
    stream: &'a TcpStream,
    connection: u64,
    number: u64,
    unparsed: Vec<u8>,
}

impl<'a> RequestReader<'a> {
    pub(super) fn new(stream: &'a TcpStream, connection: u64) -> Self {
        Self { stream, connection, number: 0, unparsed: Vec::new() }
    }

    /// Returns the next request, or `None` at the end of the connection.
    ///
    /// Fails with `InvalidData` when the request is malformed.
    pub(super) fn next(&mut self) -> io::Result<Option<Request>> {
        let mut searched = 0;
        let end = loop {
            if searched == 0 {
                self.unparsed.drain(..leading_breaks(&self.unparsed));
            }
            if let Some(end) = head_end(&self.unparsed, searched) {
                break end;
            }
            searched = self.unparsed.len();
            if searched > HEAD_LIMIT {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the head of the request is too long",
                ));
            }
            let mut piece = [0; 4096];
            let count = read_some(&mut self.stream, &mut piece)?;
            if count == 0 {
                return Ok(None);
            }
            self.unparsed.extend_from_slice(&piece[..count]);
        };
        let head = Head::parse(&self.unparsed[..end])
            .map_err(|malformed| io::Error::new(io::ErrorKind::InvalidData, malformed.0))?;
        self.number += 1;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let request = Request {
            method: head.method.to_owned(),
            target: head.target.to_owned(),
            headers: head.fields().map(|(name, value)| (text(name), text(value))).collect(),
            connection: self.connection,
            number: self.number,
            keep_alive: head.keep_alive,
        };
        self.unparsed.drain(..end);
        Ok(Some(request))
    }
}
