//! The state machine of one connection: reads a request, waits for the latency
//! to pass, sends the response, and starts again.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use crate::counters::{Counters, InFlight};
use crate::request::{HEAD_LIMIT, Head, Malformed, head_end, leading_breaks};
use crate::response::{Renderer, Response};
use crate::site::{Content, Site};

/// The budget of a connection per turn of the loop, in steps: a read, a
/// response, or a piece of a large response.
const BUDGET: u32 = 64;
/// The limits of a lingering close: after a refusal the server reads on for this
/// long and this many bytes, because closing at once could reset the connection
/// before the client has read the refusal (RFC 9112, section 9.6).
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 1 << 20;

/// The state that all connections of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) site: Arc<Site>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) renderer: Renderer,
    /// Set when the latency has been ended by [`DemoSite::release`].
    ///
    /// [`DemoSite::release`]: crate::DemoSite::release
    pub(crate) is_released: bool,
    /// The scratch buffer of all reads, so that a waiting connection owns no
    /// buffer.
    pub(crate) scratch: Vec<u8>,
}

/// One client connection.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    /// The received bytes that are not yet a complete request head.
    unparsed: Vec<u8>,
    /// The number of bytes of `unparsed` that have been searched for the end of
    /// a head.
    searched: usize,
    /// Readiness cache: there may be something to read.
    is_readable: bool,
    /// Set when the client's FIN has arrived, even if it has not been read.
    has_fin: bool,
    /// Set when the end of the stream has been read.
    is_half_closed: bool,
    /// Set when the connection is broken or closed in both directions.
    is_gone: bool,
    state: State,
}

/// The state of a connection.
#[derive(Debug)]
enum State {
    /// Waiting for a request.
    Reading,
    /// Waiting until the response may start.
    Delayed { response: Response, until: Instant, _in_flight: InFlight },
    /// Sending a response, of which this many bytes are sent.
    Sending(Response, usize),
    /// Lingering close: the response is sent, and bytes are read and discarded
    /// until this moment, or until this many.
    Lingering(Instant, usize),
}

/// The event after which a connection is to be advanced again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// An event of its socket.
    OnEvent,
    /// This moment, or an event of its socket.
    At(Instant),
    /// The end of this turn of the loop: the budget is used up.
    Yield,
    /// None: the connection is to be closed.
    Close,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            unparsed: Vec::new(),
            searched: 0,
            is_readable: false,
            has_fin: false,
            is_half_closed: false,
            is_gone: false,
            state: State::Reading,
        }
    }

    /// Sets the cached readiness that an event reports. (Writability is not
    /// cached: a connection with something to send tries to send it.)
    pub(crate) fn set_readiness(&mut self, event: &mio::event::Event) {
        self.has_fin |= event.is_read_closed();
        self.is_readable |= event.is_readable() || event.is_read_closed();
        self.is_gone |= event.is_error() || event.is_write_closed();
    }

    /// Advances the state machine until it has to wait or the budget is used
    /// up. A needless call does no harm.
    pub(crate) fn advance(&mut self, shared: &mut Shared) -> Next {
        if self.is_gone {
            return Next::Close;
        }
        for _ in 0..BUDGET {
            let step = match &mut self.state {
                State::Reading => self.read_request(shared),
                State::Delayed { response, until, .. } => {
                    if !shared.is_released && Instant::now() < *until {
                        return Next::At(*until);
                    }
                    self.state = State::Sending(*response, 0);
                    continue;
                }
                State::Sending(..) => self.send(shared),
                State::Lingering(..) => self.linger(shared),
            };
            match step {
                Ok(None) => {}
                Ok(Some(next)) => return next,
                // An error of the socket: the client is gone.
                Err(_) => return Next::Close,
            }
        }
        Next::Yield
    }

    /// Takes the next request, or reads more of it.
    fn read_request(&mut self, shared: &mut Shared) -> io::Result<Option<Next>> {
        if let Some(request) = self.next_request(shared) {
            self.state = request;
        } else if self.is_half_closed {
            return Ok(Some(Next::Close));
        } else if self.is_readable {
            let count = self.fill(&mut shared.scratch)?;
            self.unparsed.extend_from_slice(&shared.scratch[..count]);
        } else {
            return Ok(Some(Next::OnEvent));
        }
        Ok(None)
    }

    /// Takes a request from the received bytes, if they hold a complete one, and
    /// returns the state that follows.
    fn next_request(&mut self, shared: &Shared) -> Option<State> {
        if self.searched == 0 {
            self.unparsed.drain(..leading_breaks(&self.unparsed));
        }
        let end = head_end(&self.unparsed, self.searched);
        self.searched = self.unparsed.len();
        let head = match end {
            Some(end) if end <= HEAD_LIMIT => Head::parse(&self.unparsed[..end]),
            None if self.unparsed.len() <= HEAD_LIMIT => return None,
            _ => Err(Malformed("the head of the request is too long")),
        };
        let in_flight = InFlight::begin(&shared.counters);
        shared.counters.requests.fetch_add(1, Relaxed);
        let (response, latency) = decide(&shared.site, &shared.counters, head);
        self.searched = 0;
        self.unparsed.drain(..end.unwrap_or(self.unparsed.len()));
        if self.unparsed.is_empty() {
            // Thousands of idle connections must own no buffer.
            self.unparsed = Vec::new();
        }
        Some(if latency.is_zero() || shared.is_released {
            State::Sending(response, 0)
        } else {
            State::Delayed { response, until: Instant::now() + latency, _in_flight: in_flight }
        })
    }

    /// Sends a piece of the response.
    fn send(&mut self, shared: &mut Shared) -> io::Result<Option<Next>> {
        let State::Sending(response, sent) = &mut self.state else {
            return Ok(None);
        };
        let (bytes, reaches_end) = shared.renderer.render(response, *sent);
        let count = match self.stream.write(bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(Some(Next::OnEvent));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        *sent += count;
        if count < bytes.len() || !reaches_end {
            return Ok(None);
        }
        if !response.is_last {
            self.state = State::Reading;
            return Ok(None);
        }
        let all_was_read = self.unparsed.is_empty() && !self.is_readable;
        if all_was_read && !matches!(response.content, Content::NotAllowed | Content::BadRequest(_))
        {
            return Ok(Some(Next::Close));
        }
        self.stream.shutdown(Shutdown::Write)?;
        self.unparsed = Vec::new();
        self.state = State::Lingering(Instant::now() + LINGER, LINGER_BYTES);
        Ok(None)
    }

    /// Reads and discards bytes (the lingering close).
    fn linger(&mut self, shared: &mut Shared) -> io::Result<Option<Next>> {
        let State::Lingering(until, remaining) = self.state else {
            return Ok(None);
        };
        if self.is_half_closed || remaining == 0 || Instant::now() >= until {
            return Ok(Some(Next::Close));
        }
        if !self.is_readable {
            return Ok(Some(Next::At(until)));
        }
        let count = self.fill(&mut shared.scratch)?;
        self.state = State::Lingering(until, remaining.saturating_sub(count));
        Ok(None)
    }

    /// Reads once into the scratch buffer, and updates the cached readiness.
    fn fill(&mut self, scratch: &mut [u8]) -> io::Result<usize> {
        match self.stream.read(scratch) {
            Ok(0) => {
                self.is_half_closed = true;
                self.is_readable = false;
                Ok(0)
            }
            Ok(count) => {
                // A short read has drained the socket (see the notes on
                // edge-triggered streams in epoll(7)); only the end of the
                // stream can follow it.
                self.is_readable = count == scratch.len() || self.has_fin;
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.is_readable = false;
                Ok(0)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }
}

/// Returns the response to a request, and its latency.
fn decide(
    site: &Site,
    counters: &Counters,
    head: Result<Head<'_>, Malformed>,
) -> (Response, Duration) {
    let refuse =
        |content, is_http_1_0| Response { content, head_only: false, is_http_1_0, is_last: true };
    let head = match head {
        Ok(head) => head,
        Err(Malformed(why)) => return (refuse(Content::BadRequest(why), false), Duration::ZERO),
    };
    let content = site.find(head.target);
    counters.hit(head.target, content);
    if !matches!(head.method, "GET" | "HEAD") {
        return (refuse(Content::NotAllowed, head.is_http_1_0), Duration::ZERO);
    }
    if head.has_body {
        let why = "a GET or HEAD request has no body here";
        return (refuse(Content::BadRequest(why), head.is_http_1_0), Duration::ZERO);
    }
    let response = Response {
        content,
        head_only: head.method == "HEAD",
        is_http_1_0: head.is_http_1_0,
        is_last: !head.keep_alive || site.ends_connection(content, head.is_http_1_0),
    };
    (response, site.latency(head.target))
}
