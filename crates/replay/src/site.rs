//! The demo site, in a process of its own.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use demo_site::{DemoSite, Latency, SiteOptions};

/// How long a site that holds its visitors back does so at most.
pub(crate) const MOST_PATIENT: Duration = Duration::from_secs(60);

/// A demo site that is served until this is dropped.
pub(crate) struct Site {
    process: Child,
    told: BufReader<ChildStdout>,
    root: String,
}

impl Site {
    /// Serves this many pages, each after `delay`, rounded to milliseconds. A
    /// plain site has small ones, and nothing but them.
    pub(crate) fn start(pages: u32, delay: Duration, is_plain: bool) -> io::Result<Self> {
        let delay = delay.as_millis().to_string();
        let plain = is_plain.then_some("--plain");
        Self::serving(["serve", &pages.to_string(), &delay].into_iter().chain(plain))
    }

    /// Serves this many small pages, and answers nobody until all are asked for
    /// at once, or [`MOST_PATIENT`] has passed.
    pub(crate) fn holding(pages: u32) -> io::Result<Self> {
        let delay = MOST_PATIENT.as_millis().to_string();
        Self::serving(["serve", &pages.to_string(), &delay, "--plain", "--hold"])
    }

    fn serving<'a>(arguments: impl IntoIterator<Item = &'a str>) -> io::Result<Self> {
        let failed = || io::Error::other("the demo site has not started");
        let mut process = Command::new(env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let told = BufReader::new(process.stdout.take().ok_or_else(failed)?);
        let mut site = Self { process, told, root: String::new() };
        site.root = site.hear()?;
        if site.root.is_empty() {
            return Err(failed());
        }
        Ok(site)
    }

    /// Ends it; how many requests it has had at once, all unanswered?
    pub(crate) fn end(mut self) -> io::Result<u64> {
        drop(self.process.stdin.take());
        self.hear()?.parse().map_err(io::Error::other)
    }

    fn hear(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.told.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    /// Where to begin.
    pub(crate) fn root(&self) -> &str {
        &self.root
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // Its end is the end of the site.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Serves, says where on stdout, and returns when stdin is closed: by whoever
/// has started this process, or because he is gone. In the end it says how many
/// requests were unanswered at once.
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
        let ended = io::copy(&mut io::stdin(), &mut io::sink());
        is_over.store(true, Ordering::Relaxed);
        ended
    })?;
    // Unless nobody has asked.
    let _ = writeln!(stdout, "{}", site.peak_in_flight());
    Ok(())
}

fn release_all_at_once(site: &DemoSite, pages: usize, is_over: &AtomicBool) {
    const INTERVAL: Duration = Duration::from_millis(20);
    while site.peak_in_flight() < pages && !is_over.load(Ordering::Relaxed) {
        thread::sleep(INTERVAL);
    }
    // Where it cannot be told, time will tell it.
    let _ = site.release();
}
