//! The demo site, in a process of its own.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use demo_site::{DemoSite, Latency, SiteOptions};

/// A demo site that is served until this is dropped.
pub(crate) struct Site {
    process: Child,
    root: String,
}

impl Site {
    /// Serves this many pages, each after `delay`, rounded to milliseconds.
    pub(crate) fn start(pages: u32, delay: Duration) -> io::Result<Self> {
        let mut process = Command::new(env::current_exe()?)
            .arg("serve")
            .args([pages.to_string(), delay.as_millis().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut root = String::new();
        if let Some(stdout) = process.stdout.take() {
            BufReader::new(stdout).read_line(&mut root)?;
        }
        let root = root.trim_end().to_owned();
        let site = Self { process, root };
        if site.root.is_empty() {
            return Err(io::Error::other("the demo site has not started"));
        }
        Ok(site)
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
/// has started this process, or because he is gone.
pub(crate) fn serve(pages: u32, delay: Duration) -> io::Result<()> {
    let site = DemoSite::start(SiteOptions {
        pages,
        latency: if delay.is_zero() { Latency::None } else { Latency::Fixed(delay) },
        ..SiteOptions::default()
    })?;
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", site.root())?;
    stdout.flush()?;
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
