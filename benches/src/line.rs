//! A line between two network namespaces, in user space: it delays, paces, queues and
//! loses packets. Linux only, and only for root.
//!
//! At each end is a TUN device: a network interface whose packets a program reads and
//! writes. The program in the middle is this one; what belongs to one direction is
//! computed by a [`Pacer`].
//!
//! Nothing of it remains when this process ends, however it ends. A namespace exists
//! as long as there is a process in it; that is a `cat` that reads from a pipe, and
//! all other programs at the ends get a signal when their parent ends. A TUN
//! device ends with its file descriptor.

mod bound;
mod bulk;
mod namespace;
mod pacer;

pub use bulk::LineCheck;
pub(crate) use bulk::{DOWNLOAD, download};
pub use namespace::Namespace;
pub use pacer::Pacer;

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use tappers::Tun;

/// The bytes of a full packet, its headers among them.
pub const PACKET: usize = 1500;
/// The bytes of a full packet that are not headers of IPv4 and TCP (the latter with
/// timestamps).
pub const PAYLOAD: usize = PACKET - 52;

/// The number of times that a crawl which has missed pages is made.
const MAX_CRAWLS: u32 = 5;

/// The properties of a line, the same in both directions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LineOptions {
    /// The time of an empty line from one end to the other and back.
    pub round_trip: Duration,
    /// The bandwidth, in bits per second, headers of IP among them.
    pub bandwidth: u64,
    /// The length of the queue before the wire, in packets.
    pub queue: usize,
    /// The part of the packets that is lost, from 0 to 1.
    pub loss: f64,
    /// The seed that decides which packets are lost.
    pub seed: u64,
    /// The name of the congestion control at both ends.
    pub congestion: String,
}

/// A line, until it is dropped.
#[derive(Debug)]
pub struct Line {
    /// The end of the subjects.
    pub client: Namespace,
    /// The end of the server.
    pub server: Namespace,
    lost: Arc<AtomicU64>,
    first: Arc<OnceLock<Instant>>,
}

impl Line {
    const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 1);
    /// The address of the server's end.
    pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 2);

    /// Starts a line.
    ///
    /// # Errors
    /// When this process may not make namespaces or devices, or a program for that
    /// (`unshare`, `nsenter`, `setpriv`, `ip`) is missing.
    pub fn start(options: &LineOptions) -> io::Result<Self> {
        let (client, server) = (Namespace::new()?, Namespace::new()?);
        let near = Arc::new(client.add_device(Self::CLIENT, Self::SERVER, &options.congestion)?);
        let far = Arc::new(server.add_device(Self::SERVER, Self::CLIENT, &options.congestion)?);
        let lost = Arc::new(AtomicU64::new(0));
        let pacer = |seed| {
            let &LineOptions { round_trip, bandwidth, queue, loss, .. } = options;
            Pacer::new(round_trip / 2, bandwidth, queue, loss, seed)
        };
        let first = Arc::default();
        forward(&near, &far, pacer(options.seed), &lost, &first)?;
        forward(&far, &near, pacer(!options.seed), &lost, &first)?;
        Ok(Self { client, server, lost, first })
    }

    /// Returns the address of the server's end.
    pub fn server_address(&self) -> IpAddr {
        Self::SERVER.into()
    }

    /// Returns the moment of the first packet of TCP: whatever crawls has started by then.
    pub fn first_packet(&self) -> Option<Instant> {
        self.first.get().copied()
    }

    /// Returns the number of packets that were dropped or lost so far.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// Crawls until no page is missed, and returns what that crawl has given. `crawl` crawls
/// over a line of its own, and returns also how many crawls it has missed pages in.
///
/// # Errors
/// When a crawl fails, or each of five has missed pages.
pub fn until_none_is_missed<T>(mut crawl: impl FnMut() -> io::Result<(T, u32)>) -> io::Result<T> {
    for _ in 0..MAX_CRAWLS {
        if let (given, 0) = crawl()? {
            return Ok(given);
        }
    }
    Err(io::Error::other(format!("each of {MAX_CRAWLS} crawls has missed pages")))
}

/// Forwards packets in one direction, until the devices are gone.
fn forward(
    from: &Arc<Tun>,
    to: &Arc<Tun>,
    pacer: Pacer,
    lost: &Arc<AtomicU64>,
    first: &Arc<OnceLock<Instant>>,
) -> io::Result<()> {
    let (from, to, lost, first) =
        (Arc::clone(from), Arc::clone(to), Arc::clone(lost), Arc::clone(first));
    let (sender, receiver) = channel();
    let take = move || take(&from, pacer, &lost, &first, &sender);
    thread::Builder::new().name("line-in".to_owned()).spawn(take)?;
    thread::Builder::new().name("line-out".to_owned()).spawn(|| give(receiver, to))?;
    Ok(())
}

/// The number of TCP among the protocols on IP.
const TCP: u8 = 6;

/// A packet on the way, and the moment at which it arrives.
type OnTheWay = (Instant, Box<[u8]>);

/// Takes packets from a device, and sends them on the way.
fn take(
    from: &Tun,
    mut pacer: Pacer,
    lost: &AtomicU64,
    first: &OnceLock<Instant>,
    sender: &Sender<OnTheWay>,
) {
    hurry();
    let begun = Instant::now();
    let mut packet = [0; PACKET];
    // An error means that the device is gone.
    while let Ok(bytes) = from.recv(&mut packet) {
        // The version of IP, and the number of the protocol in its fourth one.
        if packet[0] >> 4 == 4 && packet[9] == TCP {
            first.get_or_init(Instant::now);
        }
        match pacer.send(begun.elapsed(), bytes) {
            Some(at) if sender.send((begun + at, packet[..bytes].into())).is_err() => return,
            Some(_) => {}
            None => drop(lost.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

/// Gives packets to a device, each at its moment.
fn give(receiver: Receiver<OnTheWay>, to: Arc<Tun>) {
    hurry();
    for (at, packet) in receiver {
        let wait = at.saturating_duration_since(Instant::now());
        if !wait.is_zero() {
            thread::sleep(wait);
        }
        // A packet that the device does not take is lost, as on any line.
        let _ = to.send(&packet);
    }
}

/// Has this thread run before all others, so that packets are not later because of other
/// work. Where that is not possible, they are; the check of the line tells.
fn hurry() {
    let thread = rustix::thread::gettid().to_string();
    let _ = Command::new("chrt").args(["--fifo", "--pid", "2", &thread]).status();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crawl_that_has_missed_pages_gives_no_time_over_a_line() {
        let mut crawls = [(9, 1), (8, 2), (7, 0), (6, 0)].into_iter();
        let seconds = until_none_is_missed(|| Ok(crawls.next().unwrap()));
        assert_eq!((seconds.unwrap(), crawls.len()), (7, 1));
        let error = until_none_is_missed(|| Ok(((), 1))).unwrap_err();
        assert_eq!(error.to_string(), "each of 5 crawls has missed pages");
    }
}
