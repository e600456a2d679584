//! One shape for every stage: the same functions in the same order, the same calls
//! into the cores, and few differences but those of control flow.

use std::collections::BTreeSet;

use test_support::sources::{code_lines, source, sources};

/// The cores that a stage calls, apart from the selector, which is what stages 1
/// and 2 are made of.
const CORES: [&str; 3] = ["crawl-core", "transport", "web"];

/// The limit on the public methods of the cores that stages 0 to 2 call.
const MAX_METHODS: usize = 30;

/// Calls of methods that have the name of a core's method, and are another type's.
/// A public method of a core is taken to be called if its name is.
const OTHER_TYPES: [(&str, &str); 5] = [
    ("Crawl", "settle"),
    ("Crawl", "stop"),
    ("Job", "address"),
    ("Outcome", "name"),
    ("Visit", "finish"),
];

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
fn the_callbacks_of_a_fetch_have_the_names_and_lines_of_its_coroutine() {
    let [callbacks, coroutines] = ["stage1-callbacks", "stage2-coroutines"].map(fetch_lines);
    let (_, added) = difference(&callbacks, &coroutines);
    let common = coroutines.len() - added.len();
    println!("{common} of the {} lines of stage 2 are in stage 1", coroutines.len());
    let mut rest: Vec<&str> = callbacks.iter().map(String::as_str).collect();
    let shared = coroutines.iter().filter(|line| {
        let at = rest.iter().position(|other| other == line);
        at.map(|at| rest.remove(at)).is_some()
    });
    let shared = shared.count();
    println!("{shared} of them in any order");
    assert!(shared * 100 >= coroutines.len() * 40);
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

/// A fetch names nothing of what the connector does.
#[test]
fn no_fetch_names_what_is_the_connectors() {
    const WORDS: [&str; 7] =
        ["limit", "descriptor", "candidate", "timer", "permit", "lookup", "address"];
    for name in ["stage0-threads", "stage1-callbacks", "stage2-coroutines", "stage3-queue"] {
        let text = source(name, "fetch.rs").replace("limit: usize", "").replace("limit as u64", "");
        for line in code_lines(&text) {
            // The phase in which a deadline begins is called that everywhere.
            let line = line.to_lowercase().replace("phase::lookup", "");
            let word = WORDS.iter().find(|word| line.contains(**word));
            assert!(word.is_none(), "{name}: {word:?} in {line}");
        }
    }
}

/// On the way of a fetch there are plain `async fn`s.
#[test]
fn no_lint_on_hand_written_async_functions_is_silenced() {
    for name in ["stage2-coroutines", "stage3-queue"] {
        for (file, text) in sources(name) {
            assert!(!text.contains("manual_async_fn"), "{name}: {file}");
        }
        let text = source(name, "fetch.rs");
        for expected in ["async fn fetch(", "async fn attempt(", "async fn exchange("] {
            assert!(text.contains(expected), "{name}: {expected}");
        }
    }
}

#[test]
fn the_seam_between_stages_and_cores_is_narrow() {
    let methods = public_methods();
    let mut all = BTreeSet::new();
    for name in ["stage0-threads", "stage1-callbacks", "stage2-coroutines"] {
        let calls = calls(name, &methods);
        println!("{name}: {} methods", calls.len());
        all.extend(calls);
    }
    println!("stages 0 to 2: {} of at most {MAX_METHODS}", all.len());
    all.iter().for_each(|(class, method)| println!("  {class}::{method}"));
    assert!(all.len() <= MAX_METHODS, "{}", all.len());
    println!("stage 3, with its policies: {}", calls("stage3-queue", &methods).len());
}

#[test]
fn callbacks_and_coroutines_make_the_same_calls() {
    let methods = public_methods();
    let [callbacks, coroutines] =
        ["stage1-callbacks", "stage2-coroutines"].map(|name| calls(name, &methods));
    assert_eq!(callbacks.difference(&coroutines).next(), None);
    // A fetch that panics ends as the row of its job, while a panic in a callback
    // ends the loop.
    let only: Vec<_> = coroutines.difference(&callbacks).collect();
    assert_eq!(only, [&("Crawl".to_owned(), "abandon".to_owned())]);
}

#[test]
fn the_futures_written_by_hand_use_neither_async_nor_await() {
    let is_async = |text: &str| {
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.any(|word| word == "async" || word == "await")
    };
    let read_by_hand = code(&source("stage2-coroutines", "net/read_by_hand.rs"));
    assert!(read_by_hand.contains("fn poll("));
    assert!(!is_async(&read_by_hand), "{read_by_hand}");
    // The search does find these words where they are used.
    assert!(is_async(&code(&source("stage2-coroutines", "net/io.rs"))));
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

/// Returns the public methods of all types of the cores: type and name.
fn public_methods() -> BTreeSet<(String, String)> {
    let mut methods = BTreeSet::new();
    for core in CORES {
        for (_, text) in sources(core) {
            let mut class = None;
            for line in code_lines(&text) {
                if let Some(head) = line.strip_suffix('{').filter(|head| head.starts_with("impl")) {
                    let name = head.trim().rsplit(' ').next().unwrap_or_default();
                    let name = name.split('<').next().unwrap_or_default().to_owned();
                    class = Some(name).filter(|_| !head.contains(" for "));
                }
                let method =
                    line.strip_prefix("pub fn ").and_then(|rest| rest.split(['(', '<']).next());
                if let (Some(class), Some(method)) = (&class, method) {
                    methods.insert((class.clone(), method.to_owned()));
                }
            }
        }
    }
    assert!(methods.len() > 100, "too few are found: {methods:?}");
    methods
}

/// Returns the methods of the cores that a crate calls: as functions of a type, or
/// as methods of a type that the crate names.
fn calls(name: &str, methods: &BTreeSet<(String, String)>) -> BTreeSet<(String, String)> {
    let text: String = sources(name).iter().map(|(_, text)| code(text)).collect();
    let reachable = reachable(&text);
    let mut calls = BTreeSet::new();
    for (class, method) in methods {
        let as_function = text.contains(&format!("{class}::{method}("))
            || text.contains(&format!("({class}::{method})"));
        let as_method = text.contains(&format!(".{method}("))
            && !OTHER_TYPES.contains(&(class.as_str(), method.as_str()));
        if as_function || as_method && reachable.contains(class) {
            calls.insert((class.clone(), method.clone()));
        }
    }
    calls
}

/// Returns the types of the cores that a text names.
fn reachable(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(char::is_uppercase)).map(str::to_owned).collect()
}

fn code(source: &str) -> String {
    code_lines(source).flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn a_difference_is_as_short_as_possible() {
    let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (lines("a b c d"), lines("a x c e d"));
    assert_eq!(difference(&old, &new), (vec!["b"], vec!["x", "e"]));
}
