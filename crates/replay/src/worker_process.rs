//! A worker process that crawls with one stage, and its parent's side.
//!
//! The worker writes to its stdout a JSON object for each row and, at the end,
//! one with its time and memory.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::iter;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use cli::parsers;
use crawl_core::{Options, Row};
use serde_json::{Value, json};

use crate::findings::Findings;
use crate::progress::Progress;
use crate::site::MAX_HOLD;
use crate::stages::Stage;

/// The findings and the measurements of a crawl.
pub(crate) struct Crawled {
    pub(crate) findings: Findings,
    pub(crate) seconds: f64,
    pub(crate) peak_in_flight: u64,
    /// The peak memory of the process in KiB, if the system reports it.
    pub(crate) peak_memory: Option<u64>,
}

/// Crawls, in the worker process. The roots of the crawl are `root` or, with
/// `first_pages`, so many pages of the demo site, `root` included.
pub(crate) fn crawl(
    stage: Stage,
    tasks: usize,
    root: &str,
    first_pages: Option<u32>,
) -> io::Result<()> {
    let more = (1..first_pages.unwrap_or(1)).map(|n| format!("{root}page/{n}"));
    let roots = iter::once(root.to_owned()).chain(more);
    let roots = roots.map(|root| parsers::root(&root)).collect::<Result<_, _>>();
    let mut options = Options::new(roots.map_err(io::Error::other)?);
    options.max_tasks = Some(tasks);
    // Only the last stage would fetch robots.txt.
    options.settings.robots = false;
    if first_pages.is_some() {
        // So many connections at once may take a busy machine longer than the
        // default timeouts.
        let timeout = 2 * MAX_HOLD;
        (options.settings.connect_timeout, options.settings.read_timeout) = (timeout, timeout);
        options.settings.timeout = timeout;
    }
    let out = Arc::new(Mutex::new(BufWriter::new(io::stdout())));
    let rows = Arc::clone(&out);
    let sink = Box::new(move |row: Row| {
        let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
        // If stdout is closed, writing the last line fails and reports it.
        let _ = serde_json::to_writer(&mut *rows, &row).map(|()| rows.write_all(b"\n"));
    });
    let begun = Instant::now();
    let crawl_summary = (stage.crawl)(options, sink)?;
    let summary = json!({
        "seconds": begun.elapsed().as_secs_f64(),
        "peak_in_flight": crawl_summary.peak_in_flight,
        "peak_memory": peak_memory(),
    });
    let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
    writeln!(out, "{summary}")?;
    out.flush()
}

/// Returns the peak memory of this process in KiB, on Linux only: other systems
/// have no such file.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Runs a worker process and collects its output.
pub(crate) fn run(
    stage: Stage,
    tasks: usize,
    root: &str,
    first_pages: Option<u32>,
    progress: &mut Progress,
) -> io::Result<Crawled> {
    let failed = |why: &str| io::Error::other(format!("stage {stage} {why}"));
    let child = Command::new(env::current_exe()?)
        .args(["crawl", &stage.number.to_string(), &tasks.to_string(), root])
        .args(first_pages.map(|pages| format!("--first-pages={pages}")))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut child = KillOnDrop(child);
    let stdout = child.0.stdout.take().ok_or_else(|| failed("has no stdout"))?;
    let mut findings = Findings::default();
    let mut summary = None;
    for line in BufReader::new(stdout).lines() {
        let line: Value = serde_json::from_str(&line?)?;
        if line.get("url").is_some() {
            findings.add(&line);
            progress.show(&format!("stage {stage}: {} URLs", findings.total()));
        } else {
            summary = Some(line);
        }
    }
    let status = child.0.wait()?;
    let summary = summary.ok_or_else(|| failed(&format!("has not finished: {status}")))?;
    Ok(Crawled {
        findings,
        seconds: summary["seconds"].as_f64().unwrap_or_default(),
        peak_in_flight: summary["peak_in_flight"].as_u64().unwrap_or_default(),
        peak_memory: summary["peak_memory"].as_u64(),
    })
}

/// A child process that is killed when it is dropped.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // Most likely it has ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
