//! One shape for every stage: the same functions in the same order, and hardly a line that
//! differs beyond the stage's own way of waiting.

use similar::{ChangeTag, TextDiff};
use test_support::sources::{code_lines, source, sources};

#[test]
fn a_fetch_differs_from_stage_to_stage_in_its_way_of_waiting_only() {
    let [threads, coroutines] = ["stage0-threads", "stage2-coroutines"].map(fetch_lines);
    let texts = (threads.join("\n"), coroutines.join("\n"));
    let diff = TextDiff::from_lines(&texts.0, &texts.1);
    let changed: Vec<_> =
        diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal).collect();
    changed.iter().for_each(|change| println!("{}{}", change.tag(), change.value().trim_end()));
    assert!(changed.len() <= 24, "stages 0 and 2 differ in {} lines", changed.len());
}

#[test]
fn every_fetch_has_the_same_functions_in_the_same_order() {
    for name in ["stage0-threads", "stage1-callbacks", "stage2-coroutines", "stage3-queue"] {
        let text = source(name, "fetch.rs");
        let functions: Vec<&str> = code_lines(&text).filter_map(function).collect();
        println!("{name}: {}", functions.join(", "));
        let mut functions = functions.into_iter();
        for expected in ["fetch", "attempt", "exchange"] {
            assert!(functions.any(|function| function == expected), "{name}: {expected}");
        }
        for file in ["crawl.rs", "crawler.rs"] {
            let text = sources(name).into_iter().find(|(path, _)| path == file);
            let Some((_, text)) = text.filter(|_| name != "stage3-queue") else { continue };
            let mut functions = code_lines(&text).filter_map(function);
            for expected in ["start_fetches", "fetch_done"] {
                assert!(functions.any(|function| function == expected), "{name}: {expected}");
            }
        }
        let connector = sources(name).into_iter().find(|(path, _)| path.ends_with("connector.rs"));
        let (_, connector) = connector.unwrap_or_else(|| panic!("{name}: no connector"));
        assert!(code_lines(&connector).filter_map(function).any(|function| function == "connect"));
    }
}

/// Returns the code lines of a stage's `fetch.rs` without `use`, `async` and
/// `.await`.
fn fetch_lines(name: &str) -> Vec<String> {
    let text = source(name, "fetch.rs");
    let mut lines = Vec::new();
    let mut is_import = false;
    for line in code_lines(&text) {
        is_import |= line.starts_with("use ");
        if !is_import {
            lines.push(line.replace("async ", "").replace(".await", ""));
        }
        is_import &= !line.ends_with(';');
    }
    lines
}

/// Returns the name of the function that a line begins.
fn function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_head = before.split(' ').all(|word| matches!(word, "" | "pub" | "pub(crate)" | "async"));
    after.split(['(', '<']).next().filter(|_| is_head)
}
