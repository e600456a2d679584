//! A blocking mock server that does exactly what a test scripts: it answers
//! late, answers nonsense, sends drop by drop, closes or resets the connection.
//!
//! One thread serves each connection, so a script is written from top to
//! bottom:
//!
//! ```
//! use demo_site::scripted::Server;
//!
//! let server = Server::start(|request, reply| match request.target.as_str() {
//!     "/" => reply.page("<a href=/next>next</a>"),
//!     "/next" if request.number > 1 => reply.reset(),
//!     _ => reply.status(404, "Not Found", &[], ""),
//! })?;
//! assert_eq!(server.hits("/"), 0);
//! # Ok::<(), std::io::Error>(())
//! ```

mod reply;
mod request;
mod server_state;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

pub use reply::Reply;
pub use request::Request;
use request::RequestReader;
use server_state::ServerState;

/// The number of connections served at once; more wait to be accepted.
const MAX_THREADS: usize = 600;
/// The stack size of a connection's thread: scripts are short and shallow.
const STACK_SIZE: usize = 256 * 1024;
/// The length of the listener's accept queue.
const BACKLOG: i32 = 4096;
/// The limits of the lingering close after a refusal: time, and bytes.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: u64 = 1 << 20;
/// The timeout for scripts to end when the server is dropped; those that sleep
/// by `thread::sleep` cannot be interrupted.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// A scripted server on 127.0.0.1. Dropping it closes all its connections. Its start raises
/// the process's soft limit on open files to the hard one.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    state: Arc<ServerState>,
    accepting: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server that calls `handler` for every request, on the thread of
    /// its connection.
    ///
    /// Then the connection waits for the next request, unless the handler closed
    /// it or the request asked for that (`Connection: close`, or HTTP/1.0
    /// without `keep-alive`). A handler that sends nothing leaves its client
    /// waiting. A malformed request is answered with 400 without a call of the
    /// handler. The body of a request is not read.
    ///
    /// # Errors
    ///
    /// The system's error when it has no port or thread left.
    pub fn start(
        handler: impl Fn(&Request, &mut Reply<'_>) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::serve(move |state, stream, connection| {
            serve_connection(state, stream, connection, &handler);
        })
    }

    /// Starts a server that calls `handler` for every connection, with its number
    /// (from 1), before anything is read, and closes the connection afterwards.
    ///
    /// To wait for the end of the test, a handler reads: dropping the server
    /// shuts down its connections.
    ///
    /// # Errors
    ///
    /// The same as those of [`start`](Self::start).
    pub fn start_raw(
        handler: impl Fn(&mut TcpStream, u64) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::serve(move |_, mut stream, connection| handler(&mut stream, connection))
    }

    fn serve(
        script: impl Fn(&Arc<ServerState>, TcpStream, u64) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        // A connection takes two file descriptors here, and one of a client in this process.
        let _ = rlimit::increase_nofile_limit(u64::MAX);
        let listener = listen()?;
        let address = listener.local_addr()?;
        let state = Arc::new(ServerState::new(MAX_THREADS));
        let accepting = {
            let state = Arc::clone(&state);
            thread::Builder::new()
                .name("scripted-accept".to_owned())
                .stack_size(STACK_SIZE)
                .spawn(move || accept(&listener, &state, &Arc::new(script)))?
        };
        Ok(Self { address, state, accepting: Some(accepting) })
    }

    /// Returns the address that the server listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of a path, which begins with a slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the number of requests for a path (with its query).
    #[must_use]
    pub fn hits(&self, path: &str) -> u64 {
        self.all_hits().get(path).copied().unwrap_or(0)
    }

    /// Returns every requested path with the number of its requests.
    #[must_use]
    pub fn all_hits(&self) -> BTreeMap<String, u64> {
        self.state.counts(|counts| counts.hits.clone())
    }

    /// Returns the number of requests so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.all_hits().values().sum()
    }

    /// Returns the number of connections accepted so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.state.counts(|counts| counts.connections)
    }

    /// Returns the greatest number of requests in flight at once: those whose
    /// reply has not begun.
    #[must_use]
    pub fn peak_in_flight(&self) -> usize {
        self.state.counts(|counts| counts.peak_in_flight)
    }
}

impl Drop for Server {
    /// Shuts down every connection and waits for the scripts to end, for two
    /// seconds at most.
    ///
    /// # Panics
    ///
    /// When a handler has panicked (most likely an assertion of the test), unless
    /// the dropping thread is panicking itself.
    fn drop(&mut self) {
        self.state.stop();
        // The accepting thread blocks in `accept`: a connection wakes it.
        let wake = TcpStream::connect_timeout(&self.address, STOP_TIMEOUT);
        if wake.is_ok()
            && let Some(accepting) = self.accepting.take()
        {
            // It returns nothing, and runs no handler that could panic.
            let _ = accepting.join();
        }
        self.state.wait_until_empty(STOP_TIMEOUT);
        let panicked = self.state.counts(|counts| counts.panicked);
        assert!(!panicked || thread::panicking(), "a handler of the scripted server has panicked");
    }
}

fn listen() -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Accepts connections and starts a thread for each, until the server stops.
fn accept<S>(listener: &TcpListener, state: &Arc<ServerState>, script: &Arc<S>)
where
    S: Fn(&Arc<ServerState>, TcpStream, u64) + Send + Sync + 'static,
{
    while state.wait_for_room() {
        let Ok((stream, _)) = listener.accept() else {
            // Perhaps out of file descriptors: try again later.
            state.sleep(Duration::from_millis(5));
            continue;
        };
        let Some(connection) = state.register(&stream) else {
            continue;
        };
        let script = Arc::clone(script);
        // When no thread can be started, the connection is closed.
        let _ = thread::Builder::new()
            .name("scripted".to_owned())
            .stack_size(STACK_SIZE)
            .spawn(move || script(connection.server(), stream, connection.number()));
    }
}

/// Serves one connection, request by request.
fn serve_connection(
    state: &Arc<ServerState>,
    stream: TcpStream,
    connection: u64,
    handler: &impl Fn(&Request, &mut Reply<'_>),
) {
    let _ = stream.set_nodelay(true);
    let mut requests = RequestReader::new(&stream, connection);
    loop {
        match requests.next() {
            Ok(Some(request)) => {
                let mut reply = Reply::begin(&stream, state, &request.target);
                handler(&request, &mut reply);
                if reply.is_over() || !request.keep_alive() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                refuse(&stream, &error);
                return;
            }
            Ok(None) | Err(_) => return,
        }
    }
}

/// Answers a malformed request with 400, then closes with a lingering close:
/// closing while bytes are unread would reset the connection, and a reset may
/// destroy the answer on its way (RFC 9112, section 9.6).
fn refuse(mut stream: &TcpStream, why: &io::Error) {
    let text = format!("{why}\n");
    let length = text.len();
    let head = format!("HTTP/1.1 400 Bad Request\r\nContent-Length: {length}\r\n\r\n");
    // An error means that the client is gone.
    let _ = stream
        .write_all((head + &text).as_bytes())
        .and_then(|()| stream.shutdown(Shutdown::Write))
        .and_then(|()| stream.set_read_timeout(Some(LINGER)))
        .and_then(|()| io::copy(&mut stream.take(LINGER_BYTES), &mut io::sink()));
}
