//! The sizes of the stages and of the chapter's own programs: each is short
//! enough to be read in one sitting.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::ops::RangeInclusive;

use test_support::sources::{code_lines, sources, workspace};

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

/// The number of code lines that one of the chapter's own programs may have.
const CHAPTER_PROGRAM: RangeInclusive<usize> = 60..=80;

#[test]
fn every_program_of_the_chapter_is_short() {
    let (mut programs, mut outside) = (0, String::new());
    for package in fs::read_dir(workspace().join("crates")).unwrap() {
        // Most crates have no examples.
        let Ok(examples) = fs::read_dir(package.unwrap().path().join("examples")) else { continue };
        for example in examples {
            let path = example.unwrap().path();
            let file = path.file_name().unwrap().to_string_lossy();
            if file.starts_with("chapter_") && file.ends_with(".rs") {
                let lines = code_lines(&fs::read_to_string(&path).unwrap()).count();
                println!("{file}: {lines}");
                programs += 1;
                if !CHAPTER_PROGRAM.contains(&lines) {
                    outside += &format!("{file}: {lines} lines, outside {CHAPTER_PROGRAM:?}\n");
                }
            }
        }
    }
    assert!(outside.is_empty(), "{outside}");
    assert!(programs >= 3, "{programs} programs of the chapter");
}
