//! The sizes of the stages: each is short enough to be read in one sitting.
#![allow(clippy::unwrap_used, missing_docs)]

use test_support::sources::{code_lines, sources};

/// The files of each crate that a reader reads, and the number of lines they
/// should have, without comments, blank lines and tests.
const AIMS: [(&str, &[&str], usize); 4] = [
    // The backends, real or virtual, are no part of the lesson.
    ("selector-core", &["readiness.rs", "selector.rs", "slab.rs", "timers.rs"], 250),
    ("stage1-callbacks", &["event_loop.rs", "fetcher.rs"], 250),
    ("stage2-coroutines", &["future.rs", "task.rs", "event_loop.rs", "io.rs"], 350),
    ("stage3-queue", &["queue.rs", "crawler.rs"], 300),
];

/// The excess over the aim that is tolerated.
const TOLERANCE_PERCENT: usize = 20;

#[test]
fn every_stage_is_short() {
    let mut too_long = String::new();
    for (name, files, aim) in AIMS {
        let mut lines = 0;
        for (file, text) in sources(name) {
            let is_counted = files.contains(&file.as_str());
            let count = code_lines(&text).count();
            println!("{name} {file}: {count}{}", if is_counted { "" } else { " (beside it)" });
            lines += if is_counted { count } else { 0 };
        }
        println!("{name}: {lines} of {aim}");
        if lines * 100 > aim * (100 + TOLERANCE_PERCENT) {
            too_long += &format!("{name}: {lines} lines instead of {aim}\n");
        }
    }
    assert!(too_long.is_empty(), "{too_long}");
}
