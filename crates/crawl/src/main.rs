//! The program `crawl`: the crawler of stage 3 with all its flags.

mod files;
#[cfg(feature = "redis")]
mod many_machines;
#[cfg(feature = "markdown")]
mod markdown;
mod recorded;
mod signals;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cli::{Invocation, Progress};
use crawl::{Builder, Crawler, ShutdownHandle};
use crawl_core::{CrawlSummary, StopReason};
use stage2_coroutines::{Inspect, system_runtime};

use crate::files::Checked;
use crate::recorded::{Recording, Replay};

fn main() -> ExitCode {
    let features = [
        ("markdown", cfg!(feature = "markdown")),
        ("redis", cfg!(feature = "redis")),
        ("select", cfg!(feature = "select")),
        ("tls", cfg!(feature = "tls")),
    ];
    let features: Vec<&str> =
        features.iter().filter(|(_, is_built)| *is_built).map(|(name, _)| *name).collect();
    cli::tool_main(
        &features,
        recorded::read,
        crawl,
        files::locate,
        #[cfg(feature = "redis")]
        many_machines::manage,
    )
}

fn crawl(mut invocation: Invocation) -> io::Result<CrawlSummary> {
    #[cfg(feature = "redis")]
    if let Some(frontier) = invocation.frontier.clone() {
        return many_machines::crawl(&frontier, invocation);
    }
    let recording = Recording::begin(&invocation)?;
    let replay = Replay::begin(&invocation)?;
    let (max_time, warn) = (invocation.options.max_time, Arc::clone(&invocation.warn));
    let mut crawler = Crawler::builder(invocation.options.clone());
    if let Some(recording) = recording {
        return recording.run(prepared(crawler, invocation), max_time, warn);
    }
    if let Some(replay) = replay {
        return replay.run(prepared(crawler, invocation), warn);
    }
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop().clone();
    event_loop.report_to(cli::print)?;
    let shutdown = crawler.shutdown_handle();
    let _guard = signals::watch(max_time, move |reason| shutdown.stop(reason), warn)?;
    let Some(files) = invocation.files.take() else {
        return prepared(crawler, invocation).run_on(runtime);
    };
    let (mut options, shutdown) = (invocation.options.clone(), crawler.shutdown_handle());
    if let Some(max_time) = options.max_time.take() {
        // The crawler's own clock would begin when the files have been read.
        stop_after(max_time, shutdown.clone())?;
    }
    let Checked { crawl, left, num_aliases, warning } =
        files::check(&files, options, &mut invocation.sink, || shutdown.is_stopped())?;
    crawler = crawler.begun(crawl, left);
    let mut summary = prepared(crawler, invocation).run_on(runtime)?;
    summary.done = summary.done.saturating_sub(num_aliases);
    for warning in &mut summary.warnings {
        *warning = files::with_paths(&files, warning);
    }
    summary.warnings.extend(warning);
    Ok(summary)
}

/// Starts a thread that stops a crawl after some time.
fn stop_after(max_time: Duration, shutdown: ShutdownHandle) -> io::Result<()> {
    let stop = move || {
        thread::sleep(max_time);
        if !shutdown.is_stopped() {
            shutdown.stop(StopReason::MaxTime);
        }
    };
    thread::Builder::new().name("limit on time of files".into()).spawn(stop).map(drop)
}

/// Prepares the crawl that the command line asks for.
fn prepared(crawler: Builder<'static>, invocation: Invocation) -> Builder<'static> {
    let warn = invocation.warn;
    let mut crawler = crawler.on_row(invocation.sink).on_warning(move |warning| warn(warning));
    if let Some(path) = invocation.state {
        crawler = crawler.journal(path);
    }
    if let Some((path, max_age)) = invocation.cache {
        crawler = crawler.external_cache(path, max_age);
    }
    if invocation.is_fresh {
        crawler = crawler.fresh();
    }
    let mut progress = invocation.progress;
    crawler.watch(Progress::INTERVAL, move |counts| progress.show(counts))
}
