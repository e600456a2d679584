//! A panic in the sink ends the crawl and reaches the caller.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::thread;

use crawl_core::{CrawlSummary, Options, Sink};

use crate::common::{WATCHDOG, links, options, serve};

type Crawl = fn(Options, Sink) -> std::io::Result<CrawlSummary>;

#[test]
fn a_panic_in_the_sink_ends_the_crawl_and_reaches_the_caller() {
    const PAGES: usize = 100;
    let stages: [Crawl; 4] = [
        stage0_threads::crawl,
        stage1_callbacks::crawl,
        stage2_coroutines::crawl,
        stage3_queue::crawl,
    ];
    for (stage, crawl) in stages.into_iter().enumerate() {
        // A chain: each page links to the next one only.
        let server = serve(|request, reply| {
            let n: usize = request.path().trim_start_matches('/').parse().unwrap_or(0);
            let next = (n < PAGES).then(|| format!("/{}", n + 1));
            reply.page(links(next));
        });
        let mut options = options(server.url("/"));
        options.max_tasks = Some(3);
        let (sender, result) = channel();
        thread::spawn(move || {
            let sink: Sink = Box::new(|_| panic!("no more"));
            let crawl = AssertUnwindSafe(|| crawl(options, sink).map(|_| ()));
            let panic = catch_unwind(crawl).err();
            sender.send(panic.and_then(|p| p.downcast_ref::<&str>().map(ToString::to_string)))
        });
        let message =
            result.recv_timeout(WATCHDOG).unwrap_or_else(|_| panic!("stage {stage} hangs"));
        assert_eq!(message.as_deref(), Some("no more"), "stage {stage}");
        if stage > 0 {
            // The threads of stage 0 first finish the fetches they have begun.
            assert!(server.requests() < 10, "stage {stage}: {} requests", server.requests());
        }
    }
}
