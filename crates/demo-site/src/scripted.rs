//! A blocking server that does exactly what a test tells it to: answer late,
//! answer nonsense, drip, hang up, reset.
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
mod stage;

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
use stage::Stage;

/// How many connections are served at once; more wait to be accepted.
const MAX_THREADS: usize = 600;
/// Scripts are short and shallow.
const STACK_SIZE: usize = 256 * 1024;
const BACKLOG: i32 = 4096;
/// How long, and for how many bytes, a refused client is listened to.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: u64 = 1 << 20;
/// How long the end waits for scripts that sleep on their own account.
const PATIENCE: Duration = Duration::from_secs(2);

/// A scripted server on 127.0.0.1; dropped, it is gone, connections and all.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stage: Arc<Stage>,
    accepting: Option<JoinHandle<()>>,
}

impl Server {
    /// Calls `handler` for every request, on the thread of its connection.
    ///
    /// After it, the connection waits for the next request, unless the script
    /// ended it or the request asked for its end (`Connection: close`, or
    /// HTTP/1.0 without `keep-alive`). A handler that sends nothing leaves its
    /// client waiting. What is not a request is answered with 400, and never
    /// seen by the handler; neither is the body of a request.
    ///
    /// # Errors
    ///
    /// Those of the system, when it has no port or thread left.
    pub fn start(
        handler: impl Fn(&Request, &mut Reply<'_>) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::serve(move |stage, stream, connection| {
            converse(stage, stream, connection, &handler);
        })
    }

    /// Calls `handler` for every connection, the first being number 1, before
    /// anything is read, and closes the connection after it.
    ///
    /// To wait for the end of the test, read: the server's end is the end of
    /// its connections.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_raw(
        handler: impl Fn(&mut TcpStream, u64) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::serve(move |_, mut stream, connection| handler(&mut stream, connection))
    }

    fn serve(
        script: impl Fn(&Arc<Stage>, TcpStream, u64) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = listen()?;
        let address = listener.local_addr()?;
        let stage = Arc::new(Stage::new(MAX_THREADS));
        let accepting = {
            let stage = Arc::clone(&stage);
            thread::Builder::new()
                .name("scripted-accept".to_owned())
                .stack_size(STACK_SIZE)
                .spawn(move || accept(&listener, &stage, &Arc::new(script)))?
        };
        Ok(Self { address, stage, accepting: Some(accepting) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path, which begins with a slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// How often a path (with its query) was asked for.
    #[must_use]
    pub fn hits(&self, path: &str) -> u64 {
        self.all_hits().get(path).copied().unwrap_or(0)
    }

    /// Every path that was asked for, and how often.
    #[must_use]
    pub fn all_hits(&self) -> BTreeMap<String, u64> {
        self.stage.look(|counts| counts.hits.clone())
    }

    /// How many requests have come.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.all_hits().values().sum()
    }

    /// How many connections have been accepted.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.stage.look(|counts| counts.connections)
    }

    /// The greatest number of requests that were waiting for the first byte
    /// of their reply at once.
    #[must_use]
    pub fn peak_in_flight(&self) -> usize {
        self.stage.look(|counts| counts.peak_in_flight)
    }
}

impl Drop for Server {
    /// Ends every connection and waits for the scripts to notice, two seconds
    /// at most.
    ///
    /// # Panics
    ///
    /// When a handler has panicked (a test's assertion, most likely), unless
    /// the dropping thread is panicking itself.
    fn drop(&mut self) {
        self.stage.stop();
        // The accepting thread waits for a connection, so let it have one.
        let woken = TcpStream::connect_timeout(&self.address, PATIENCE);
        if woken.is_ok()
            && let Some(accepting) = self.accepting.take()
        {
            // It has nothing to say, and no handler runs on it.
            let _ = accepting.join();
        }
        self.stage.wait_until_empty(PATIENCE);
        let panicked = self.stage.look(|counts| counts.panicked);
        assert!(!panicked || thread::panicking(), "a handler of the scripted server has panicked");
    }
}

fn listen() -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn accept<S>(listener: &TcpListener, stage: &Arc<Stage>, script: &Arc<S>)
where
    S: Fn(&Arc<Stage>, TcpStream, u64) + Send + Sync + 'static,
{
    while stage.wait_for_room() {
        let Ok((stream, _)) = listener.accept() else {
            // No file descriptor, perhaps: one may come free.
            stage.sleep(Duration::from_millis(5));
            continue;
        };
        let Some(entrance) = stage.enter(&stream) else {
            continue;
        };
        let script = Arc::clone(script);
        // Should there be no thread left, the client sees its connection end.
        let _ = thread::Builder::new()
            .name("scripted".to_owned())
            .stack_size(STACK_SIZE)
            .spawn(move || script(entrance.stage(), stream, entrance.connection()));
    }
}

fn converse(
    stage: &Arc<Stage>,
    stream: TcpStream,
    connection: u64,
    handler: &impl Fn(&Request, &mut Reply<'_>),
) {
    let _ = stream.set_nodelay(true);
    let mut requests = RequestReader::new(&stream, connection);
    loop {
        match requests.next() {
            Ok(Some(request)) => {
                let mut reply = Reply::begin(&stream, stage, &request.target);
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

/// Tells a client that it makes no sense. What is left of its nonsense is
/// read, for unread bytes would make the end a reset, and a reset may take the
/// answer along (RFC 9112, section 9.6).
fn refuse(mut stream: &TcpStream, why: &io::Error) {
    let text = format!("{why}\n");
    let length = text.len();
    let head = format!("HTTP/1.1 400 Bad Request\r\nContent-Length: {length}\r\n\r\n");
    // Where anything fails, the client is gone.
    let _ = stream
        .write_all((head + &text).as_bytes())
        .and_then(|()| stream.shutdown(Shutdown::Write))
        .and_then(|()| stream.set_read_timeout(Some(LINGER)))
        .and_then(|()| io::copy(&mut stream.take(LINGER_BYTES), &mut io::sink()));
}
