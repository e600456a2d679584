//! A gateway to a website that ruins some of what goes through it.

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

use super::faults::{Fault, Kind, Plan};

/// It stands before a website of plain http, and speaks TLS if it is told to.
pub struct Gateway {
    server: Server,
    is_secure: bool,
    attempts: Arc<Mutex<HashMap<String, u32>>>,
}

impl Gateway {
    pub fn before(site: SocketAddr, plan: Plan, tls: Option<ServerConfig>) -> Self {
        let attempts = Arc::new(Mutex::new(HashMap::new()));
        let (counts, tls) = (Arc::clone(&attempts), tls.map(Arc::new));
        let is_secure = tls.is_some();
        let server = Server::start_raw(move |stream, connection| {
            let mut wire = Wire { stream, fault: Rc::default() };
            if plan.breaks_greeting(connection) {
                let _ = wire.strike(Kind::Reset);
                return;
            }
            let fault = Rc::clone(&wire.fault);
            let fate = |path: &str, length| {
                let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                let attempt = counts.entry(path.to_owned()).or_default();
                *attempt += 1;
                fault.set(plan.fate(path, *attempt, length));
            };
            // An error is a fault, or a client that has left.
            let _ = match &tls {
                None => pass_on(wire, site, fate),
                Some(config) => {
                    let tls = ServerConnection::new(Arc::clone(config)).unwrap();
                    pass_on(StreamOwned::new(tls, wire), site, fate)
                }
            };
        });
        Self { server: server.unwrap(), is_secure, attempts }
    }

    pub fn url(&self, path: &str) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.server.address())
    }

    /// How many connections were made.
    pub fn connections(&self) -> u64 {
        self.server.connections()
    }

    /// How often each path was asked for.
    pub fn attempts(&self) -> BTreeMap<String, u32> {
        let attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        attempts.iter().map(|(path, attempts)| (path.clone(), *attempts)).collect()
    }
}

/// Has the site answer each request that comes; `fate` hears which path it is
/// for and how long the answer is, before it is sent.
fn pass_on(
    mut client: impl Read + Write,
    site: SocketAddr,
    mut fate: impl FnMut(&str, usize),
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
        let response = response(&mut site)?;
        let request = String::from_utf8_lossy(&head[..length]);
        fate(request.split(' ').nth(1).unwrap_or_default(), response.len());
        client.write_all(&response)?;
        client.flush()?;
    }
}

/// A response that says how long it is, head and all.
fn response(site: &mut impl BufRead) -> io::Result<Vec<u8>> {
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

/// What goes over the wire of one connection, and what happens to it there.
struct Wire<'a> {
    stream: &'a mut TcpStream,
    fault: Rc<Cell<Option<Fault>>>,
}

impl Read for Wire<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(Fault { kind, place }) = self.fault.get() else {
            return self.stream.write(bytes);
        };
        let before = place.min(bytes.len());
        self.stream.write_all(&bytes[..before])?;
        if before == bytes.len() {
            self.fault.set(Some(Fault { kind, place: place - before }));
            return Ok(before);
        }
        let mut rest = bytes[before..].to_vec();
        if kind == Kind::Damage {
            // More than one: the version of a TLS record means nothing, right
            // or wrong (RFC 8446, section 5.1).
            rest.iter_mut().take(5).for_each(|byte| *byte ^= 0b0010_0000);
        }
        // Of what is fatal, nobody recovers by writing once more.
        self.strike(kind)?;
        self.fault.set(None);
        self.stream.write_all(&rest)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Wire<'_> {
    /// `Ok` when the connection survives it.
    fn strike(&mut self, kind: Kind) -> io::Result<()> {
        match kind {
            Kind::Damage => return Ok(()),
            Kind::Late => {
                sleep(Duration::from_millis(20));
                return Ok(());
            }
            Kind::End => self.stream.shutdown(Shutdown::Write)?,
            Kind::Reset => SockRef::from(&*self.stream).set_linger(Some(Duration::ZERO))?,
            // Until the client has lost its patience.
            Kind::Silence => drop(io::copy(self.stream, &mut io::sink())?),
        }
        Err(ErrorKind::ConnectionAborted.into())
    }
}
