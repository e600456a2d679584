//! A fault-injecting proxy in front of a website.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use demo_site::scripted::Server;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use socket2::SockRef;

use super::faults::{Fault, FaultKind, FaultPlan};

/// A reverse proxy that injects the faults of a [`FaultPlan`] into the
/// responses of a plain http website. It speaks TLS if it has a configuration
/// for it.
pub struct FaultProxy {
    server: Server,
    is_secure: bool,
    attempts: Arc<Mutex<HashMap<String, u32>>>,
}

impl FaultProxy {
    pub fn start(site: SocketAddr, plan: FaultPlan, tls: Option<ServerConfig>) -> Self {
        let attempts = Arc::new(Mutex::new(HashMap::new()));
        let (counts, tls) = (Arc::clone(&attempts), tls.map(Arc::new));
        let is_secure = tls.is_some();
        let server = Server::start_raw(move |stream, connection| {
            let mut faulty = FaultyStream { stream, fault: Rc::default() };
            if plan.resets_connection(connection) {
                let _ = faulty.inject(FaultKind::Reset);
                return;
            }
            let fault = Rc::clone(&faulty.fault);
            let set_fault = |path: &str, length| {
                let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                let attempt = counts.entry(path.to_owned()).or_default();
                *attempt += 1;
                fault.set(plan.fault_for(path, *attempt, length));
            };
            // An error is an injected fault or a client that has closed.
            let _ = match &tls {
                None => forward(faulty, site, set_fault),
                Some(config) => {
                    let tls = ServerConnection::new(Arc::clone(config)).unwrap();
                    forward(StreamOwned::new(tls, faulty), site, set_fault)
                }
            };
        });
        Self { server: server.unwrap(), is_secure, attempts }
    }

    pub fn url(&self, path: &str) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.server.address())
    }

    /// Returns the number of connections made so far.
    pub fn connections(&self) -> u64 {
        self.server.connections()
    }

    /// Returns the number of requests for each path.
    pub fn attempts(&self) -> BTreeMap<String, u32> {
        let attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        attempts.iter().map(|(path, attempts)| (path.clone(), *attempts)).collect()
    }
}

/// Forwards each request to the site and sends back its response. Before the
/// response is sent, `set_fault` gets the path and the length of the response.
fn forward(
    mut client: impl Read + Write,
    site: SocketAddr,
    mut set_fault: impl FnMut(&str, usize),
) -> io::Result<()> {
    let mut site = BufReader::new(TcpStream::connect(site)?);
    let mut head = [0; 4096];
    loop {
        let mut length = 0;
        while !head[..length].ends_with(b"\r\n\r\n") {
            length += match client.read(&mut head[length..])? {
                0 => return Ok(()),
                count => count,
            };
        }
        site.get_mut().write_all(&head[..length])?;
        let response = read_response(&mut site)?;
        let request = String::from_utf8_lossy(&head[..length]);
        set_fault(request.split(' ').nth(1).unwrap_or_default(), response.len());
        client.write_all(&response)?;
        client.flush()?;
    }
}

/// Reads a response with a `Content-Length` and returns it, head included.
fn read_response(site: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let (mut response, mut length) = (Vec::new(), 0);
    loop {
        let begin = response.len();
        site.read_until(b'\n', &mut response)?;
        let line = String::from_utf8_lossy(&response[begin..]).to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    site.take(length).read_to_end(&mut response)?;
    Ok(response)
}

/// The proxy's connection to a client, with the fault of the next response.
struct FaultyStream<'a> {
    stream: &'a mut TcpStream,
    fault: Rc<Cell<Option<Fault>>>,
}

impl Read for FaultyStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

impl Write for FaultyStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(Fault { kind, offset }) = self.fault.get() else {
            return self.stream.write(bytes);
        };
        let before = offset.min(bytes.len());
        self.stream.write_all(&bytes[..before])?;
        if before == bytes.len() {
            self.fault.set(Some(Fault { kind, offset: offset - before }));
            return Ok(before);
        }
        let mut rest = bytes[before..].to_vec();
        if kind == FaultKind::Damage {
            // More than one byte: a wrong version of a TLS record is ignored
            // (RFC 8446, section 5.1).
            rest.iter_mut().take(5).for_each(|byte| *byte ^= 0b0010_0000);
        }
        // A fatal fault is not cleared, so that another write fails as well.
        self.inject(kind)?;
        self.fault.set(None);
        self.stream.write_all(&rest)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl FaultyStream<'_> {
    /// Injects a fault. Returns `Ok` if the connection can still be used.
    fn inject(&mut self, kind: FaultKind) -> io::Result<()> {
        match kind {
            FaultKind::Damage => return Ok(()),
            FaultKind::Late => {
                sleep(Duration::from_millis(20));
                return Ok(());
            }
            FaultKind::End => self.stream.shutdown(Shutdown::Write)?,
            FaultKind::Reset => SockRef::from(&*self.stream).set_linger(Some(Duration::ZERO))?,
            // Until the client closes the connection.
            FaultKind::Silence => drop(io::copy(self.stream, &mut io::sink())?),
        }
        Err(ErrorKind::ConnectionAborted.into())
    }
}
