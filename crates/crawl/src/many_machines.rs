//! A crawl on many machines: this process is one of its workers, or asks for its state.

use std::io;

use cli::{FrontierAction, FrontierArguments, Invocation, Progress};
use crawl_core::{CrawlSummary, Options};
use frontier_redis::{RedisOptions, Server, delete, report, status, work};
use stage2_coroutines::{Inspect, system_runtime};
use stage3_queue::ShutdownHandle;

use crate::signals;

fn redis_options(frontier: &FrontierArguments, options: &Options) -> io::Result<RedisOptions> {
    let server = Server::parse(&frontier.url)
        .map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, format!("--frontier: {why}")))?;
    let mut redis = RedisOptions::new(server, &frontier.crawl);
    redis.max_wait = frontier.wait.unwrap_or(redis.max_wait);
    redis.ca_certificates.clone_from(&options.ca_certificates);
    redis.insecure = options.insecure;
    redis.journal.clone_from(&frontier.journal);
    redis.keep_redirects = options.keep_redirects;
    Ok(redis)
}

/// Works on a crawl, or reports it.
pub(crate) fn crawl(
    frontier: &FrontierArguments,
    invocation: Invocation,
) -> io::Result<CrawlSummary> {
    let redis = redis_options(frontier, &invocation.options)?;
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop().clone();
    event_loop.report_to(cli::print)?;
    let Invocation { options, mut sink, mut progress, warn, .. } = invocation;
    let summary = if frontier.action == FrontierAction::Report {
        runtime.run_until_complete(report(&event_loop, &redis, &mut sink))?
    } else {
        let shutdown = ShutdownHandle::new();
        let stop = shutdown.clone();
        let _guard = signals::watch(options.max_time, move |reason| stop.stop(reason), warn)?;
        let watch = (Progress::INTERVAL, |counts: &_| progress.show(counts));
        runtime.run_until_complete(work(&event_loop, redis, options, sink, shutdown, watch))?
    };
    drop(runtime);
    summary
}

/// Returns the state of a crawl as a text, or deletes it.
pub(crate) fn manage(frontier: &FrontierArguments, options: &Options) -> io::Result<String> {
    let redis = redis_options(frontier, options)?;
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop().clone();
    event_loop.report_to(cli::print)?;
    let text = if frontier.action == FrontierAction::Drop {
        runtime.run_until_complete(delete(&event_loop, &redis))?.map(|()| String::new())
    } else {
        runtime.run_until_complete(status(&event_loop, &redis))?.map(|status| status.to_string())
    };
    drop(runtime);
    text
}
