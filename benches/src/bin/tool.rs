//! The cost of the program `crawl`: to build it, to start it, and the memory that it takes for a
//! small site: `cargo run --release -p benches --bin tool`.
//!
//! It is built twice in a folder of its own, all dependencies with it: as it is by default, and
//! with all features. What is started is the first.

#![allow(clippy::print_stdout)]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};

use benches::figures::{self, Quartiles};
use benches::machine::peak_memory;
use benches::{ServerProcess, Site, play_role_if_asked, server_certificate};
use rustls::{ServerConnection, StreamOwned};
use serde::{Deserialize, Serialize};

/// The number of runs of each figure but those of builds.
const RUNS: usize = 21;
/// The number of crates whose seconds are kept, those that take longest.
const CRATES: usize = 16;
/// The name of the program's package.
const PACKAGE: &str = "crawl";

/// A build of the program.
#[derive(Serialize)]
struct Build {
    /// From the beginning to the end.
    seconds: f64,
    /// The number of packages that were compiled, ours among them.
    crates: usize,
}

/// A unit of a build, as cargo reports it.
#[derive(Deserialize)]
struct Unit {
    name: String,
    version: String,
    target: String,
    duration: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    play_role_if_asked(None)?;
    let folder = figures::folder()?.join("tool");
    let mut kept = BTreeMap::new();
    let mut keep = |id: String, figure: serde_json::Value| {
        println!("{id}: {figure}");
        kept.insert(id, figure);
    };
    let (build, units) = build(&folder, &["--features", "full"])?;
    keep("tool/build/full".into(), serde_json::to_value(build)?);
    for (name, seconds) in longest(&units) {
        keep(format!("tool/crate/{name}"), serde_json::json!({ "seconds": seconds }));
    }
    let (build, _) = self::build(&folder, &[])?;
    keep("tool/build/default".into(), serde_json::to_value(build)?);

    let program = folder.join("release").join("crawl");
    keep("tool/start/http".into(), serde_json::to_value(start(&program, false)?)?);
    keep("tool/start/https".into(), serde_json::to_value(start(&program, true)?)?);
    keep("tool/resident/1000".into(), serde_json::to_value(resident(&program)?)?);
    let file = figures::keep("tool", &kept)?;
    println!("kept in {}", file.display());
    Ok(())
}

/// Builds the program and all that it is made of anew.
fn build(folder: &Path, features: &[&str]) -> Result<(Build, Vec<Unit>), Box<dyn Error>> {
    if folder.is_dir() {
        fs::remove_dir_all(folder)?;
    }
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What cargo sets for this package would make some build scripts run with other values.
    for (name, _) in env::vars().filter(|(name, _)| name.starts_with("CARGO_PKG_")) {
        cargo.env_remove(name);
    }
    cargo.args(["build", "--release", "--locked", "--timings", "-p", PACKAGE]).args(features);
    cargo.arg("--target-dir").arg(folder);
    let begun = Instant::now();
    if !cargo.status()?.success() {
        return Err("the program cannot be built".into());
    }
    let seconds = begun.elapsed().as_secs_f64();
    let report = fs::read_to_string(folder.join("cargo-timings/cargo-timing.html"))?;
    let units =
        report.split_once("const UNIT_DATA = ").and_then(|(_, rest)| rest.split_once(";\n"));
    let units: Vec<Unit> = serde_json::from_str(units.ok_or("cargo reports no units")?.0)?;
    let crates: BTreeSet<_> = units.iter().map(|unit| (&unit.name, &unit.version)).collect();
    Ok((Build { seconds, crates: crates.len() }, units))
}

/// Returns the packages that took longest, with their seconds. The program itself, whose time is
/// that of the optimisation over all of them, is `link`.
fn longest(units: &[Unit]) -> Vec<(&str, f64)> {
    let mut seconds = BTreeMap::<_, f64>::new();
    for Unit { name, target, duration, .. } in units {
        let is_program = name == PACKAGE && target.contains("bin");
        *seconds.entry(if is_program { "link" } else { name }).or_default() += duration;
    }
    let mut seconds: Vec<_> = seconds.into_iter().collect();
    seconds.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    seconds.truncate(CRATES);
    seconds
}

/// A guard that ends a process when it is dropped.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a command that starts the program for a root.
fn crawl(program: &Path, root: &str) -> Command {
    let mut command = Command::new(program);
    command.args(["--quiet", "--no-proxy", "--config", "/dev/null", root]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Returns the milliseconds from the start of the program until its first request has arrived,
/// over TLS with the system's roots and one more.
fn start(program: &Path, is_secure: bool) -> Result<Quartiles, Box<dyn Error>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let (config, authority) = server_certificate()?;
    let config = Arc::new(config);
    let root_file = tempfile::NamedTempFile::new()?;
    fs::write(root_file.path(), authority.pem())?;
    let root = if is_secure { format!("https://{address}/") } else { format!("http://{address}/") };
    let mut times = Vec::new();
    // The first run reads the program from disk.
    for _ in 0..=RUNS {
        let mut command = crawl(program, &root);
        if is_secure {
            command.arg("--cacert").arg(root_file.path());
        }
        let begun = Instant::now();
        let mut process = KillOnDrop(command.spawn()?);
        let stream = accept(&listener, &mut process)?;
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        if is_secure {
            let connection = ServerConnection::new(Arc::clone(&config))?;
            read_request(StreamOwned::new(connection, stream))?;
        } else {
            read_request(stream)?;
        }
        times.push(begun.elapsed());
    }
    Ok(Quartiles::of(times[1..].iter().map(|time| time.as_secs_f64() * 1e3)))
}

/// Accepts a connection of the program.
fn accept(listener: &TcpListener, program: &mut KillOnDrop) -> io::Result<TcpStream> {
    loop {
        match listener.accept() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if let Some(status) = program.0.try_wait()? {
                    return Err(io::Error::other(format!("the program has ended: {status}")));
                }
                // As often as this, so the figure is too large by half of it.
                thread::sleep(Duration::from_micros(50));
            }
            accepted => return Ok(accepted?.0),
        }
    }
}

/// Reads a request to the end of its head.
fn read_request(mut stream: impl Read + Write) -> io::Result<()> {
    let (mut head, mut buffer) = (Vec::new(), [0; 1024]);
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => head.extend_from_slice(&buffer[..length]),
        }
    }
    Ok(())
}

/// Returns the peak of the resident memory in bytes, for a crawl of a thousand pages.
fn resident(program: &Path) -> Result<Quartiles, Box<dyn Error>> {
    let run = || -> io::Result<f64> {
        let mut server = ServerProcess::start(Site::default())?;
        let mut process = KillOnDrop(crawl(program, &server.url(0)).spawn()?);
        let mut peak = 0;
        let status = loop {
            if let Some(status) = process.0.try_wait()? {
                break status;
            }
            peak = peak.max(peak_memory(process.0.id()));
            thread::sleep(Duration::from_micros(200));
        };
        if !status.success() || server.requested_pages()? != Site::default().pages {
            return Err(io::Error::other(format!("the crawl was not whole: {status}")));
        }
        Ok(peak as f64)
    };
    let peaks = (0..RUNS).map(|_| run()).collect::<io::Result<Vec<_>>>()?;
    Ok(Quartiles::of(peaks.into_iter()))
}
