//! The demo site in a process of its own, and its parent's side.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use demo_site::{DemoSite, Latency, SiteOptions};

/// The maximum time for which a holding site delays its answers.
pub(crate) const MAX_HOLD: Duration = Duration::from_secs(60);

/// A demo site that is served until this is dropped.
pub(crate) struct Site {
    process: Child,
    stdout: BufReader<ChildStdout>,
    root: String,
}

impl Site {
    /// Starts a site with this many pages, each answered after `delay`, which is
    /// rounded to milliseconds. A plain site has small pages, and nothing else.
    pub(crate) fn start(pages: u32, delay: Duration, is_plain: bool) -> io::Result<Self> {
        let delay = delay.as_millis().to_string();
        let plain = is_plain.then_some("--plain");
        Self::spawn(["serve", &pages.to_string(), &delay].into_iter().chain(plain))
    }

    /// Starts a site with this many small pages that delays all answers until
    /// every page is requested at the same time, or [`MAX_HOLD`] has passed.
    pub(crate) fn holding(pages: u32) -> io::Result<Self> {
        let delay = MAX_HOLD.as_millis().to_string();
        Self::spawn(["serve", &pages.to_string(), &delay, "--plain", "--hold"])
    }

    fn spawn<'a>(arguments: impl IntoIterator<Item = &'a str>) -> io::Result<Self> {
        let failed = || io::Error::other("the demo site has not started");
        let mut process = Command::new(env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = BufReader::new(process.stdout.take().ok_or_else(failed)?);
        let mut site = Self { process, stdout, root: String::new() };
        site.root = site.read_line_trimmed()?;
        if site.root.is_empty() {
            return Err(failed());
        }
        Ok(site)
    }

    /// Ends the site. Returns the peak number of unanswered requests.
    pub(crate) fn end(mut self) -> io::Result<u64> {
        drop(self.process.stdin.take());
        self.read_line_trimmed()?.parse().map_err(io::Error::other)
    }

    fn read_line_trimmed(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    /// Returns the URL of the root page.
    pub(crate) fn root(&self) -> &str {
        &self.root
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // The process ends when its stdin is closed.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Serves the site, in its own process, until stdin is closed: by the parent, or
/// because the parent has ended. Prints the root URL first and the peak number
/// of unanswered requests at the end.
pub(crate) fn serve(pages: u32, delay: Duration, is_plain: bool, holds: bool) -> io::Result<()> {
    let mut options = SiteOptions {
        pages,
        latency: if delay.is_zero() { Latency::None } else { Latency::Fixed(delay) },
        ..SiteOptions::default()
    };
    if is_plain {
        (options.page_size, options.special_cases) = (1024, false);
    }
    let site = DemoSite::start(options)?;
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", site.root())?;
    stdout.flush()?;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        if holds {
            scope.spawn(|| release_all_at_once(&site, pages as usize, &is_over));
        }
        let result = io::copy(&mut io::stdin(), &mut io::sink());
        is_over.store(true, Ordering::Relaxed);
        result
    })?;
    // This fails if the parent has ended, and then it does not matter.
    let _ = writeln!(stdout, "{}", site.peak_in_flight());
    Ok(())
}

/// Releases the answers as soon as every page is requested.
fn release_all_at_once(site: &DemoSite, pages: usize, is_over: &AtomicBool) {
    const INTERVAL: Duration = Duration::from_millis(20);
    while site.peak_in_flight() < pages && !is_over.load(Ordering::Relaxed) {
        thread::sleep(INTERVAL);
    }
    // If this fails, the answers come when their delay is over.
    let _ = site.release();
}
