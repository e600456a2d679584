//! One shape for every stage: the same functions in the same order, and hardly a line that
//! differs beyond the stage's own way of waiting.

use test_support::sources::{code_lines, source, sources};

#[test]
fn a_fetch_differs_from_stage_to_stage_in_its_way_of_waiting_only() {
    let [threads, coroutines] = ["stage0-threads", "stage2-coroutines"].map(fetch_lines);
    let (removed, added) = difference(&threads, &coroutines);
    println!("stage 0 to stage 2: {} lines removed, {} added", removed.len(), added.len());
    removed.iter().for_each(|line| println!("- {line}"));
    added.iter().for_each(|line| println!("+ {line}"));
    assert!(removed.len() + added.len() <= 24);
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

/// Returns the lines to remove from `old`, and those to add, that make `new` of it:
/// as few as possible (by the longest common subsequence).
fn difference<'t>(old: &'t [String], new: &'t [String]) -> (Vec<&'t str>, Vec<&'t str>) {
    // The length of the longest common subsequence of the ends from here on.
    let mut common = vec![vec![0; new.len() + 1]; old.len() + 1];
    for (i, old) in old.iter().enumerate().rev() {
        for (j, new) in new.iter().enumerate().rev() {
            common[i][j] = match old == new {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || i < old.len() && common[i + 1][j] >= common[i][j + 1] {
            removed.push(&*old[i]);
            i += 1;
        } else {
            added.push(&*new[j]);
            j += 1;
        }
    }
    (removed, added)
}

/// Returns the name of the function that a line begins.
fn function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_head = before.split(' ').all(|word| matches!(word, "" | "pub" | "pub(crate)" | "async"));
    after.split(['(', '<']).next().filter(|_| is_head)
}
