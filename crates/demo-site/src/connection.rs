//! One client: what it asked, and how far the answer has got.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use crate::counters::{Counters, InFlight};
use crate::request::{HEAD_LIMIT, Head, Malformed, head_end, leading_breaks};
use crate::response::{Answer, Renderer};
use crate::site::{Content, Site};

/// How many steps (a read, a response, a piece of a large one) a connection may
/// take before it is another's turn.
const BUDGET: u32 = 64;
/// How long, and for how many bytes, a refused client is listened to: closing
/// at once would take the refusal away from it (RFC 9112, section 9.6).
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 1 << 20;

/// What the connections of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) site: Arc<Site>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) renderer: Renderer,
    /// From now on nobody waits for an answer, whatever the latency.
    pub(crate) is_released: bool,
    /// What is read lands here first, so that who waits needs no buffer.
    pub(crate) scratch: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    /// What has arrived and is not yet a whole request head.
    unparsed: Vec<u8>,
    /// The first so many bytes of it have been searched for the end of one.
    searched: usize,
    /// There may be something to read.
    is_readable: bool,
    /// The end of what the client says has arrived, if not been read.
    end_is_near: bool,
    /// The client will say no more.
    is_half_closed: bool,
    /// The client is gone.
    is_dead: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Waiting for a request.
    Reading,
    /// The answer may not start before a certain time.
    Delayed { answer: Answer, until: Instant, _in_flight: InFlight },
    /// This many bytes of the answer are sent.
    Sending(Answer, usize),
    /// Everything is said: until a certain time, listening to a few more bytes.
    Lingering(Instant, usize),
}

/// When to advance a connection again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// When its socket has news.
    OnEvent,
    /// At this time, or when its socket has news.
    At(Instant),
    /// When all others have had their turn.
    Again,
    /// Never: it is over.
    Close,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            unparsed: Vec::new(),
            searched: 0,
            is_readable: false,
            end_is_near: false,
            is_half_closed: false,
            is_dead: false,
            state: State::Reading,
        }
    }

    /// Takes note of an event. (That the socket is writable needs no note:
    /// who has something to send tries.)
    pub(crate) fn note(&mut self, event: &mio::event::Event) {
        self.end_is_near |= event.is_read_closed();
        self.is_readable |= event.is_readable() || event.is_read_closed();
        self.is_dead |= event.is_error() || event.is_write_closed();
    }

    /// Goes on until there is something to wait for. Needless calls do no
    /// harm.
    pub(crate) fn advance(&mut self, shared: &mut Shared) -> Next {
        if self.is_dead {
            return Next::Close;
        }
        for _ in 0..BUDGET {
            let step = match &mut self.state {
                State::Reading => self.read_request(shared),
                State::Delayed { answer, until, .. } => {
                    if !shared.is_released && Instant::now() < *until {
                        return Next::At(*until);
                    }
                    self.state = State::Sending(*answer, 0);
                    continue;
                }
                State::Sending(..) => self.send(shared),
                State::Lingering(..) => self.linger(shared),
            };
            match step {
                Ok(None) => {}
                Ok(Some(next)) => return next,
                // Whoever is gone needs no answer.
                Err(_) => return Next::Close,
            }
        }
        Next::Again
    }

    /// Decides on the answer to the next request, or reads more of it.
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

    /// Takes a request from the bytes that have arrived, if there is a whole
    /// one, and tells what to do about it.
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
        let (answer, latency) = decide(&shared.site, &shared.counters, head);
        self.searched = 0;
        self.unparsed.drain(..end.unwrap_or(self.unparsed.len()));
        if self.unparsed.is_empty() {
            // Thousands may wait for their next request: without a buffer.
            self.unparsed = Vec::new();
        }
        Some(if latency.is_zero() || shared.is_released {
            State::Sending(answer, 0)
        } else {
            State::Delayed { answer, until: Instant::now() + latency, _in_flight: in_flight }
        })
    }

    /// Sends a piece of the answer.
    fn send(&mut self, shared: &mut Shared) -> io::Result<Option<Next>> {
        let State::Sending(answer, sent) = &mut self.state else {
            return Ok(None);
        };
        let (bytes, reaches_end) = shared.renderer.render(answer, *sent);
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
        if !answer.is_last {
            self.state = State::Reading;
            return Ok(None);
        }
        let all_was_read = self.unparsed.is_empty() && !self.is_readable;
        if all_was_read && !matches!(answer.content, Content::NotAllowed | Content::BadRequest(_)) {
            return Ok(Some(Next::Close));
        }
        self.stream.shutdown(Shutdown::Write)?;
        self.unparsed = Vec::new();
        self.state = State::Lingering(Instant::now() + LINGER, LINGER_BYTES);
        Ok(None)
    }

    /// Reads what nobody wants to know.
    fn linger(&mut self, shared: &mut Shared) -> io::Result<Option<Next>> {
        let State::Lingering(until, patience) = self.state else {
            return Ok(None);
        };
        if self.is_half_closed || patience == 0 || Instant::now() >= until {
            return Ok(Some(Next::Close));
        }
        if !self.is_readable {
            return Ok(Some(Next::At(until)));
        }
        let count = self.fill(&mut shared.scratch)?;
        self.state = State::Lingering(until, patience.saturating_sub(count));
        Ok(None)
    }

    /// Reads once, and notes whether more can be read.
    fn fill(&mut self, scratch: &mut [u8]) -> io::Result<usize> {
        match self.stream.read(scratch) {
            Ok(0) => {
                self.is_half_closed = true;
                self.is_readable = false;
                Ok(0)
            }
            Ok(count) => {
                // Less than there was room for is all there is (see the notes
                // on edge-triggered streams in epoll(7)); only the end of the
                // stream could hide behind it.
                self.is_readable = count == scratch.len() || self.end_is_near;
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

/// What to answer, and after how long.
fn decide(
    site: &Site,
    counters: &Counters,
    head: Result<Head<'_>, Malformed>,
) -> (Answer, Duration) {
    let refuse = |content, is_old| Answer { content, head_only: false, is_old, is_last: true };
    let head = match head {
        Ok(head) => head,
        Err(Malformed(why)) => return (refuse(Content::BadRequest(why), false), Duration::ZERO),
    };
    let content = site.find(head.target);
    counters.hit(head.target, content);
    if !matches!(head.method, "GET" | "HEAD") {
        return (refuse(Content::NotAllowed, head.is_old), Duration::ZERO);
    }
    if head.has_body {
        let why = "a GET or HEAD request has no body here";
        return (refuse(Content::BadRequest(why), head.is_old), Duration::ZERO);
    }
    let answer = Answer {
        content,
        head_only: head.method == "HEAD",
        is_old: head.is_old,
        is_last: !head.keep_alive || site.ends_connection(content, head.is_old),
    };
    (answer, site.latency(head.target))
}
