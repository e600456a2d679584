//! The check of a line: ping agrees with its delay, and a bulk transfer with its
//! bandwidth.

use std::env;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Line, LineOptions, PACKET, PAYLOAD};
use crate::process::{RoleProcess, reply};
use crate::{ServerProcess, Site};

/// The name of the downloading role.
pub(crate) const DOWNLOAD: &str = "download";
/// The number of pings.
const PINGS: usize = 5;
/// The maximum difference from the delay.
const MAX_DIFFERENCE: Duration = Duration::from_millis(1);
/// The maximum difference from the bandwidth, a part of it.
const MAX_DEVIATION: f64 = 0.03;
/// The time over which a rate is measured.
const WINDOW: Duration = Duration::from_millis(500);
/// The number of windows after which a transfer ought to have found its rate.
const WINDOWS: u32 = 40;

/// The congestion control that fills a line: it sends more until the queue is full.
const FILLING: &str = "cubic";

/// The settings of the downloading role.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Download {
    url: String,
    /// The rate that is expected, in bytes per second.
    rate: f64,
}

/// The measured properties of a line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LineCheck {
    /// The median of some pings.
    pub round_trip: Duration,
    /// The rate of a bulk transfer, by the bandwidth.
    pub rate: f64,
}

impl Line {
    /// Checks a line of these options, which loses nothing, with a sender that fills it. How
    /// much of it another congestion control uses is not a property of the line.
    ///
    /// # Errors
    /// When it does not have the delay or the bandwidth, or a program is missing.
    pub fn check(options: &LineOptions) -> io::Result<LineCheck> {
        let congestion = FILLING.to_owned();
        let line = Self::start(&LineOptions { loss: 0.0, congestion, ..options.clone() })?;
        let round_trip = line.ping()?;
        if round_trip.abs_diff(options.round_trip) > MAX_DIFFERENCE {
            let message = format!("ping takes {round_trip:?}, not {:?}", options.round_trip);
            return Err(io::Error::other(message));
        }
        let rate = line.bulk(options.bandwidth)?;
        if !is_expected(rate) {
            return Err(io::Error::other(format!("a transfer has {rate:.3} of the bandwidth")));
        }
        Ok(LineCheck { round_trip, rate })
    }

    /// Returns the median round trip of some pings.
    fn ping(&self) -> io::Result<Duration> {
        let mut ping = self.client.command("ping");
        ping.args(["-n", "-i", "0.2", "-c"]).arg(PINGS.to_string()).arg(Self::SERVER.to_string());
        let output = ping.output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let times = text.lines().filter_map(|line| line.split_once("time=")?.1.strip_suffix(" ms"));
        let mut times: Vec<f64> = times.filter_map(|time| time.parse().ok()).collect();
        times.sort_by(f64::total_cmp);
        let median = times.get(PINGS / 2).ok_or_else(|| {
            let (answers, error) = (times.len(), String::from_utf8_lossy(&output.stderr));
            io::Error::other(format!("{ping:?} had {answers} of {PINGS} answers: {}", error.trim()))
        })?;
        Ok(Duration::from_secs_f64(median / 1e3))
    }

    /// Returns the rate of a bulk transfer, by the bandwidth, once it has found it.
    fn bulk(&self, bandwidth: u64) -> io::Result<f64> {
        // More than is taken before the end.
        let seconds = (WINDOWS + 1) * WINDOW;
        let page_size = (bandwidth / 8) as usize * (seconds.as_secs() as usize + 1);
        let site = Site { pages: 1, page_size, ..Site::default() };
        let program = env::current_exe()?;
        let server = self.server.command(&program);
        let server = ServerProcess::start_command(server, self.server_address(), site)?;
        let rate = bandwidth as f64 / 8.0 * PAYLOAD as f64 / PACKET as f64;
        let settings = Download { url: server.url(0), rate };
        RoleProcess::start(DOWNLOAD, &settings, self.client.command(program))?.receive()
    }
}

/// Returns true if a rate, by the expected one, differs little from it.
fn is_expected(rate: f64) -> bool {
    (rate - 1.0).abs() <= MAX_DEVIATION
}

/// Downloads until the rates of two windows, one after the other, are the expected one, or
/// for all windows. Replies the one of the last two that is further from it, by the
/// expected one.
pub(crate) fn download(Download { url, rate }: Download) -> io::Result<()> {
    let authority = url.strip_prefix("http://").unwrap_or(&url).trim_end_matches('/');
    let mut stream = TcpStream::connect(authority)?;
    write!(stream, "GET / HTTP/1.1\r\nHost: {authority}\r\n\r\n")?;
    let mut buffer = vec![0; 256 * 1024];
    let mut last_two = [0.0, 0.0];
    for _ in 0..WINDOWS {
        let (begun, mut bytes) = (Instant::now(), 0);
        while begun.elapsed() < WINDOW {
            match stream.read(&mut buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => bytes += read,
            }
        }
        last_two = [last_two[1], bytes as f64 / begun.elapsed().as_secs_f64() / rate];
        if last_two.into_iter().all(is_expected) {
            break;
        }
    }
    let [before, last] = last_two;
    reply(&if (before - 1.0).abs() > (last - 1.0).abs() { before } else { last })
}
