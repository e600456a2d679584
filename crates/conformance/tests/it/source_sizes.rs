//! The sizes of the stages and of the chapter's own programs: each is short
//! enough to be read in one sitting.

use std::fs;
use std::ops::RangeInclusive;

use test_support::sources::{code_lines, sources, workspace};

/// The readings: a crate, its files or folders, and the number of lines that they
/// should have together, without comments, blank lines and tests.
const AIMS: [(&str, &[&str], usize); 8] = [
    // The backends, real or virtual, are no part of the lesson.
    ("selector-core", &["readiness.rs", "selector.rs", "slab.rs", "timers.rs"], 280),
    ("stage1-callbacks", &["event_loop.rs", "crawl.rs", "fetch.rs", "connection.rs"], 380),
    ("stage1-callbacks", &["connector.rs"], 200),
    ("stage2-coroutines", &["runtime/"], 700),
    ("stage2-coroutines", &["fetch.rs"], 60),
    ("stage3-queue", &["queue.rs", "crawler.rs", "frontier.rs"], 380),
    ("stage3-queue", &["frontier/"], 260),
    ("stage3-queue", &["politeness.rs", "politeness/"], 615),
];

/// The excess over the aim that is tolerated.
const TOLERANCE_PERCENT: usize = 5;

#[test]
fn every_reading_is_short() {
    let mut too_long = String::new();
    for (name, parts, aim) in AIMS {
        let mut lines = 0;
        for (file, text) in sources(name) {
            if parts
                .iter()
                .any(|part| file == *part || part.ends_with('/') && file.starts_with(part))
            {
                let count = code_lines(&text).count();
                println!("  {name} {file}: {count}");
                lines += count;
            }
        }
        println!("{name} {}: {lines} of {aim}", parts.join(", "));
        assert!(lines > 0, "{name}: no such file: {parts:?}");
        if lines * 100 > aim * (100 + TOLERANCE_PERCENT) {
            too_long += &format!("{name} {parts:?}: {lines} lines instead of {aim}\n");
        }
    }
    assert!(too_long.is_empty(), "{too_long}");
}

/// The loop of stage 2 is taken apart: its methods are in few files, and no struct
/// of the crate has many fields.
#[test]
fn the_loop_of_stage_2_is_in_parts() {
    let mut files = Vec::new();
    for (file, text) in sources("stage2-coroutines") {
        if code_lines(&text).any(|line| line.starts_with("impl EventLoop ")) {
            files.push(file.clone());
        }
        let mut fields = None;
        for line in code_lines(&text) {
            if line.contains("struct ") && line.ends_with('{') {
                fields = Some((line, 0));
            } else if line == "}" {
                fields = None;
            } else if let Some((head, count)) = &mut fields
                && line.ends_with(',')
                && line.contains(": ")
            {
                *count += 1;
                assert!(*count <= 10, "{file}: {head}");
            }
        }
    }
    println!("impl EventLoop: {}", files.join(", "));
    assert!((1..=3).contains(&files.len()), "{files:?}");
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

/// The smallest runtime, without the program that shows it, fits on a page or two.
#[test]
fn the_smallest_runtime_has_at_most_a_hundred_lines() {
    let path = workspace().join("crates/stage2-coroutines/examples/smallest_runtime.rs");
    let source = fs::read_to_string(path).unwrap();
    let (runtime, main) = source.split_once("// ANCHOR: main\n").unwrap();
    assert!(main.contains("fn main"));
    let lines = code_lines(runtime).count();
    println!("the smallest runtime: {lines}");
    assert!(lines <= 100, "{lines} lines");
}
