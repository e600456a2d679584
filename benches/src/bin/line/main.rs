//! Crawls over a line with delays: `cargo run --release -p benches --bin line`, as
//! root, on Linux.
//!
//! Between two network namespaces is a line that this program emulates (see
//! `benches::line`); the site is at one end, and one subject after another at the
//! other one. The time of each crawl is compared with the bound: the round trips that
//! the site's links and the number of connections make necessary, or the bytes of the
//! pages by the bandwidth, whichever takes longer. Before each crawl, ping has to
//! agree with the delay of such a line, and a bulk transfer with its bandwidth.
//!
//! It wants `unshare`, `nsenter`, `setpriv`, `chrt`, `ip`, `sysctl` and `ping`, and the
//! subjects `wget` and `wget2` if they are asked for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[cfg(target_os = "linux")]
mod runs;

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    runs::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("network namespaces are Linux only");
    std::process::ExitCode::FAILURE
}
