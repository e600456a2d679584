//! One server: a connection on which calls are pipelined, and which is opened again
//! when it fails.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use redis_protocol::resp2::decode::decode;
use redis_protocol::resp2::encode::encode_borrowed;
use redis_protocol::resp2::types::{BorrowedFrame, OwnedFrame};
use stage2_coroutines::{
    Connection, EventLoop, Future, Selected, Task, connect, connect_unix, lookup, read, select,
    sleep, timeout_at, write_all, yield_now,
};
use transport::{TlsConnector, TlsLayer};

use crate::scripts::Script;
use crate::server::{Server, Target};

/// Timeout for opening a connection, for silence while replies are waited for, and for each
/// part of what is written. The tests of this file have less time.
const TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });

/// First and longest pause before a connection is opened again; it doubles.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// Limit on the bytes that are sent before replies are read.
const MAX_BATCH: usize = 256 * 1024;

/// Length of the parts in which bytes are written. The record of a page may have many: a slow
/// line needs longer for all of them.
const MAX_PART: usize = 64 * 1024;

/// A call that has failed for good.
#[derive(Clone, Debug)]
pub(crate) enum CallError {
    /// The server could not be reached for too long, or refuses the login.
    Lost(String),
    /// The server has answered with this error.
    Refused(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(message) => f.write_str(message),
            Self::Refused(message) => write!(f, "Redis answers: {message}"),
        }
    }
}

impl From<CallError> for io::Error {
    fn from(error: CallError) -> Self {
        Self::other(error.to_string())
    }
}

pub(crate) type CallResult = Result<OwnedFrame, CallError>;

/// A command, or the call of a script.
pub(crate) struct Command {
    pub(crate) script: Option<&'static Script>,
    /// The words of the command, or the key and the arguments of the script.
    pub(crate) words: Vec<Vec<u8>>,
    /// True if it may have been sent before, on a connection that has failed since.
    pub(crate) is_repeated: bool,
}

impl Command {
    /// Creates a command that is not a script and was not sent before.
    pub(crate) fn new(words: Vec<Vec<u8>>) -> Self {
        Self { script: None, words, is_repeated: false }
    }

    /// Appends the command in the protocol of Redis. A script is named by its hash
    /// unless `with_text`; its first argument says whether the call is repeated.
    fn encode(&self, with_text: bool, bytes: &mut Vec<u8>) {
        let mut frames = Vec::with_capacity(self.words.len() + 4);
        if let Some(script) = self.script {
            let (verb, name) =
                if with_text { ("EVAL", &script.text) } else { ("EVALSHA", &script.sha1) };
            let head = [verb.as_bytes(), name.as_bytes(), b"1"];
            frames.extend(head.map(BorrowedFrame::BulkString));
        }
        frames.extend(self.words.iter().map(|word| BorrowedFrame::BulkString(word)));
        if self.script.is_some() {
            // Behind the words `EVALSHA`, hash, number of keys, key.
            let flag: &[u8] = if self.is_repeated { b"1" } else { b"0" };
            frames.insert(4, BorrowedFrame::BulkString(flag));
        }
        let frame = BorrowedFrame::Array(&frames);
        let begin = bytes.len();
        bytes.resize(begin + frame.encode_len(false), 0);
        // Cannot fail: the buffer has the right length.
        let _ = encode_borrowed(&mut bytes[begin..], &frame, false);
    }
}

/// A call that waits for its reply.
struct Call {
    command: Command,
    with_text: bool,
    reply: Future<CallResult>,
}

/// A server, and the calls that wait for it. Its task runs until it is dropped.
pub(crate) struct Node {
    state: Rc<NodeState>,
    task: Task<()>,
}

struct NodeState {
    event_loop: EventLoop,
    server: Server,
    tls: Rc<TlsConnector>,
    /// How long to wait for an unreachable server.
    max_wait: Duration,
    /// Number of connections that were lost, over all nodes.
    losses: Rc<Cell<u64>>,
    queued: RefCell<VecDeque<Call>>,
    sent: RefCell<VecDeque<Call>>,
    /// Resolved when a call is queued.
    has_queued: RefCell<Option<Future<()>>>,
    failing_since: Cell<Option<Instant>>,
    failed: RefCell<Option<CallError>>,
    run_id: RefCell<Option<String>>,
}

impl Node {
    /// Creates a node; its connection is opened at once.
    pub(crate) fn new(
        event_loop: &EventLoop,
        server: Server,
        tls: &Rc<TlsConnector>,
        max_wait: Duration,
        losses: &Rc<Cell<u64>>,
    ) -> Self {
        let state = Rc::new(NodeState {
            event_loop: event_loop.clone(),
            server,
            tls: Rc::clone(tls),
            max_wait,
            losses: Rc::clone(losses),
            queued: RefCell::default(),
            sent: RefCell::default(),
            has_queued: RefCell::default(),
            failing_since: Cell::default(),
            failed: RefCell::default(),
            run_id: RefCell::default(),
        });
        let running = Rc::clone(&state);
        let task = Task::spawn(event_loop, async move { running.run().await });
        Self { state, task }
    }

    /// Sends a command and waits for its reply, however often the connection has to be
    /// opened again for it. So it may be sent twice.
    ///
    /// # Errors
    /// When the server is lost or answers with an error.
    pub(crate) async fn call(&self, command: Command) -> CallResult {
        if let Some(error) = &*self.state.failed.borrow() {
            return Err(error.clone());
        }
        let reply = Future::new(&self.state.event_loop);
        self.state.queued.borrow_mut().push_back(Call {
            command,
            with_text: false,
            reply: reply.clone(),
        });
        self.state.wake();
        let lost = |_| Err(CallError::Lost("the connection was closed".to_owned()));
        reply.await.unwrap_or_else(lost)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.task.cancel();
    }
}

impl NodeState {
    fn wake(&self) {
        if let Some(has_queued) = self.has_queued.take() {
            // Cannot fail: it is set once, when it is taken.
            let _ = has_queued.set_result(());
        }
    }

    /// Waits until a call is queued.
    async fn queued(&self) {
        if self.queued.borrow().is_empty() {
            let has_queued = Future::new(&self.event_loop);
            self.has_queued.replace(Some(has_queued.clone()));
            let _ = has_queued.await;
        }
    }

    /// Opens the connection again and again, with exponential backoff, until the server
    /// is lost.
    async fn run(self: Rc<Self>) {
        let mut backoff = BACKOFF.0;
        loop {
            let (now, event_loop) = (self.event_loop.now(), &self.event_loop);
            let opened = timeout_at(event_loop, || now + TIMEOUT, self.open()).await;
            let error = match opened.unwrap_or_else(|_elapsed| Err(ErrorKind::TimedOut.into())) {
                Ok(connection) => {
                    let error = self.serve(connection).await;
                    self.losses.update(|losses| losses + 1);
                    error
                }
                Err(error) => error,
            };
            // They are sent once more, in the same order.
            let mut sent = self.sent.take();
            sent.iter_mut().for_each(|call| call.command.is_repeated = true);
            sent.append(&mut self.queued.borrow_mut());
            self.queued.replace(sent);
            let now = self.event_loop.now();
            let Some(since) = self.failing_since.get() else {
                self.failing_since.set(Some(now));
                backoff = BACKOFF.0;
                continue;
            };
            if now >= since + self.max_wait || error.kind() == ErrorKind::PermissionDenied {
                return self.fail(&error);
            }
            sleep(&self.event_loop, backoff).await;
            backoff = (backoff * 2).min(BACKOFF.1);
        }
    }

    /// Ends all calls with an error.
    fn fail(&self, error: &io::Error) {
        let error = CallError::Lost(format!("{}: {error}", self.server));
        self.failed.replace(Some(error.clone()));
        for call in self.queued.take() {
            let _ = call.reply.set_result(Err(error.clone()));
        }
    }

    async fn open(&self) -> io::Result<Connection> {
        let event_loop = &self.event_loop;
        let mut connection = match &self.server.target {
            Target::Unix(path) => connect_unix(event_loop, path, TlsLayer::plain()).await?,
            Target::Tcp { host, port, is_secure } => {
                let addresses = lookup(event_loop, host, *port).await.map_err(io::Error::other)?;
                let layer = || self.tls.layer(is_secure.then_some(host.as_str()));
                connect_to_one(event_loop, &addresses, layer).await?
            }
        };
        match (&self.server.user, &self.server.password) {
            (Some(user), password) => {
                let password = password.as_deref().unwrap_or("");
                greet(&mut connection, &["AUTH", user, password]).await?;
            }
            (None, Some(password)) => drop(greet(&mut connection, &["AUTH", password]).await?),
            (None, None) => {}
        }
        if self.server.database > 0 {
            greet(&mut connection, &["SELECT", &self.server.database.to_string()]).await?;
        }
        let run_id = run_id_of(&greet(&mut connection, &["INFO", "server"]).await?);
        if self.run_id.borrow().as_ref().is_some_and(|before| *before != run_id) {
            // The server was restarted. When the last transaction in its append-only
            // file was cut short, Redis 7.0 does not run it, but leaves it in the file,
            // where the next start would run it: so the file is rewritten. A server
            // that does not allow it, or does it already, refuses.
            match greet(&mut connection, &["BGREWRITEAOF"]).await {
                Err(error) if error.kind() != ErrorKind::PermissionDenied => return Err(error),
                _ => {}
            }
        }
        self.run_id.replace(Some(run_id));
        Ok(connection)
    }

    /// Sends calls and takes their replies, until the connection fails.
    async fn serve(&self, mut connection: Connection) -> io::Error {
        let mut received = Vec::new();
        // The moment since which replies are waited for, and nothing has come.
        let mut silent_since = self.event_loop.now();
        loop {
            let begun = self.event_loop.now();
            if self.sent.borrow().is_empty() {
                silent_since = begun;
            }
            for part in self.take_queued().chunks(MAX_PART) {
                let now = self.event_loop.now();
                match self.within_timeout(now, write_all(&mut connection, part)).await {
                    Ok(()) => {}
                    Err(error) => return error,
                }
            }
            // What comes while it writes is not read.
            silent_since += self.event_loop.now() - begun;
            if self.event_loop.now() >= silent_since + TIMEOUT {
                // If this process was held up, what has come meanwhile is read first.
                yield_now(&self.event_loop).await;
            }
            let take = |bytes: &[u8]| received.extend_from_slice(bytes);
            let reading = async { Ok(select((read(&mut connection, take), self.queued())).await) };
            let event = if self.sent.borrow().is_empty() {
                reading.await
            } else {
                self.within_timeout(silent_since, reading).await
            };
            match event {
                Ok(Selected::First(Ok(Some(())))) => {
                    silent_since = self.event_loop.now();
                    if let Err(error) = self.take_replies(&mut received) {
                        return error;
                    }
                }
                Ok(Selected::First(Ok(None))) => return ErrorKind::UnexpectedEof.into(),
                Ok(Selected::First(Err(error))) | Err(error) => return error,
                Ok(_) => {}
            }
        }
    }

    async fn within_timeout<T>(
        &self,
        begun: Instant,
        coroutine: impl std::future::Future<Output = io::Result<T>>,
    ) -> io::Result<T> {
        let deadline = begun + TIMEOUT;
        let result = timeout_at(&self.event_loop, || deadline, coroutine).await;
        result.unwrap_or_else(|_elapsed| Err(ErrorKind::TimedOut.into()))
    }

    /// Takes queued calls, which are then sent, and returns their bytes.
    fn take_queued(&self) -> Vec<u8> {
        let (mut queued, mut sent) = (self.queued.borrow_mut(), self.sent.borrow_mut());
        let mut bytes = Vec::new();
        while bytes.len() < MAX_BATCH
            && let Some(call) = queued.pop_front()
        {
            call.command.encode(call.with_text, &mut bytes);
            sent.push_back(call);
        }
        bytes
    }

    /// Takes the replies that have arrived.
    fn take_replies(&self, received: &mut Vec<u8>) -> io::Result<()> {
        let mut begin = 0;
        while let Some((reply, length)) = decode(&received[begin..]).map_err(io::Error::other)? {
            begin += length;
            let call = self.sent.borrow_mut().pop_front();
            let Some(mut call) = call else {
                return Err(io::Error::other("there is a reply to no call"));
            };
            let result = match reply {
                OwnedFrame::Error(message) if message.starts_with("NOSCRIPT") => {
                    call.with_text = true;
                    self.queued.borrow_mut().push_front(call);
                    continue;
                }
                OwnedFrame::Error(message) if is_temporary(&message) => {
                    self.sent.borrow_mut().push_front(call);
                    return Err(io::Error::other(message));
                }
                OwnedFrame::Error(message) if is_moving(&message) => {
                    let why = "slots of the cluster are being moved: stop all workers first";
                    Err(CallError::Refused(format!("{message} ({why})")))
                }
                OwnedFrame::Error(message) => Err(CallError::Refused(message)),
                reply => Ok(reply),
            };
            self.failing_since.set(None);
            // Cannot fail: a call has one reply.
            let _ = call.reply.set_result(result);
        }
        received.drain(..begin);
        Ok(())
    }
}

/// Returns true if the server may answer the same call later: it loads its data, or its
/// cluster chooses another node.
fn is_temporary(message: &str) -> bool {
    const WORDS: [&str; 5] = ["LOADING", "BUSY", "CLUSTERDOWN", "MASTERDOWN", "READONLY"];
    WORDS.iter().any(|word| message.starts_with(word))
}

/// Returns true if the keys of a slot are being moved to another node, one after another. A
/// script that finds a part of them only changes a part of what it should. So this is not
/// waited for.
fn is_moving(message: &str) -> bool {
    ["ASK ", "TRYAGAIN"].iter().any(|word| message.starts_with(word))
}

/// Connects to the first of these addresses that answers. Each of them has an equal share of
/// the time, and so has the login.
async fn connect_to_one(
    event_loop: &EventLoop,
    addresses: &[SocketAddr],
    layer: impl Fn() -> io::Result<TlsLayer>,
) -> io::Result<Connection> {
    let mut result = Err(ErrorKind::NotFound.into());
    for address in addresses {
        let deadline = event_loop.now() + TIMEOUT / (addresses.len() as u32 + 1);
        let connecting = connect(event_loop, *address, layer()?);
        let connected = timeout_at(event_loop, || deadline, connecting).await;
        result = connected.unwrap_or_else(|_elapsed| Err(ErrorKind::TimedOut.into()));
        if result.is_ok() {
            break;
        }
    }
    result
}

/// Sends one command on a new connection, and returns its reply.
async fn greet(connection: &mut Connection, words: &[&str]) -> io::Result<OwnedFrame> {
    let words = words.iter().map(|word| word.as_bytes().to_vec()).collect();
    let (mut bytes, mut received) = (Vec::new(), Vec::new());
    Command::new(words).encode(false, &mut bytes);
    write_all(connection, &bytes).await?;
    loop {
        let take = |bytes: &[u8]| received.extend_from_slice(bytes);
        read(connection, take).await?.ok_or(ErrorKind::UnexpectedEof)?;
        match decode(&received).map_err(io::Error::other)? {
            Some((OwnedFrame::Error(message), _)) => return Err(refused(&message)),
            Some((reply, _)) => return Ok(reply),
            None => {}
        }
    }
}

/// Returns the run id in the reply to `INFO server`: another one after each start.
pub(crate) fn run_id_of(info: &OwnedFrame) -> String {
    let text = match info {
        OwnedFrame::BulkString(bytes) => String::from_utf8_lossy(bytes),
        _ => "".into(),
    };
    let run_id = text.lines().find_map(|line| line.strip_prefix("run_id:"));
    run_id.unwrap_or_default().to_owned()
}

/// Returns the error of a login or of the choice of a database.
fn refused(message: &str) -> io::Error {
    let kind = if is_temporary(message) { ErrorKind::Other } else { ErrorKind::PermissionDenied };
    io::Error::new(kind, message.to_owned())
}

#[cfg(test)]
mod tests {
    use asyncio::prelude::*;
    use stage2_coroutines::system_runtime;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use super::*;

    #[test]
    fn a_server_whose_first_address_is_silent_is_reached_at_its_second() {
        // It accepts nothing, and no more can wait.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap();
        let fill = || TcpStream::connect_timeout(&address, Duration::from_millis(500)).ok();
        let waiting: Vec<_> = std::iter::from_fn(fill).take(500).collect();
        assert!(waiting.len() < 500, "it is not full");
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let addresses = [address, server.local_addr().unwrap()];
        let runtime = system_runtime().unwrap();
        let event_loop = runtime.event_loop().clone();
        let connecting = connect_to_one(&event_loop, &addresses, || Ok(TlsLayer::plain()));
        let connected = runtime.run_sync(connecting, TIMEOUT);
        connected.expect("the first address has taken all time").unwrap();
    }

    /// Starts a server that greets each client, and then says nothing more.
    fn falls_silent() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis://{}/", listener.local_addr().unwrap());
        thread::spawn(move || {
            for mut client in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || {
                    let mut bytes = [0; 4_096];
                    let _ = client.read(&mut bytes);
                    let _ = client.write_all(b"$0\r\n\r\n");
                    while matches!(client.read(&mut bytes), Ok(1..)) {}
                });
            }
        });
        Server::parse(&url).unwrap()
    }

    #[test]
    fn a_server_that_falls_silent_is_noticed_although_calls_are_added() {
        let runtime = system_runtime().unwrap();
        let event_loop = runtime.event_loop().clone();
        let tls = Rc::new(TlsConnector::new(&[], false));
        let (losses, max_wait) = (Rc::new(Cell::new(0)), Duration::from_secs(60));
        let node = Rc::new(Node::new(&event_loop, falls_silent(), &tls, max_wait, &losses));
        let adding = async {
            while losses.get() == 0 {
                let node = Rc::clone(&node);
                let call = async move { drop(node.call(Command::new(vec!["PING".into()])).await) };
                event_loop.spawn_detached(call);
                sleep(&event_loop, TIMEOUT / 20).await;
            }
        };
        runtime.run_sync(adding, TIMEOUT * 5).expect("its silence is not noticed");
        drop(runtime);
    }
}
