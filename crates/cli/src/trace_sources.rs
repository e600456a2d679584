//! The source files that events of a trace name, as they were when the program was
//! built.

/// The files, by their paths in the workspace.
macro_rules! sources {
    ($($path:literal)*) => {
        &[$(($path, include_str!(concat!("../../../", $path)))),*]
    };
}

/// Path and text of each file.
pub(crate) const SOURCES: &[(&str, &str)] = sources! {
    "crates/stage1-callbacks/src/connector.rs"
    "crates/stage1-callbacks/src/crawl.rs"
    "crates/stage1-callbacks/src/fetch.rs"
    "crates/stage2-coroutines/src/crawl.rs"
    "crates/stage2-coroutines/src/fetch.rs"
    "crates/stage2-coroutines/src/net/connector.rs"
    "crates/stage2-coroutines/src/net/io.rs"
    "crates/stage2-coroutines/src/net/limits.rs"
    "crates/stage2-coroutines/src/net/lookup.rs"
    "crates/stage2-coroutines/src/net/time.rs"
    "crates/stage3-queue/src/builder.rs"
    "crates/stage3-queue/src/crawler.rs"
    "crates/stage3-queue/src/fetch.rs"
    "crates/stage3-queue/src/frontier/local.rs"
    "crates/stage3-queue/src/queue.rs"
    "crates/stage3-queue/src/robots.rs"
    "crates/stage3-queue/src/shutdown.rs"
    "crates/stage3-queue/src/sitemaps.rs"
};
