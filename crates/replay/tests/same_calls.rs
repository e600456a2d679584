//! The stages differ in control flow and in little else. Their sources say so.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::collections::BTreeSet;

use common::sources::{code_lines, source, sources};

/// What the stages share, and where it is written.
const SHARED: [(&str, &str, &str); 8] = [
    ("crawl-core", "crawl.rs", "Crawl"),
    ("crawl-core", "visit.rs", "Visit"),
    ("crawl-core", "patience.rs", "Patience"),
    ("transport", "candidates.rs", "Candidates"),
    ("transport", "connect_queue.rs", "ConnectQueue"),
    ("transport", "security.rs", "Security"),
    ("transport", "stream.rs", "Stream"),
    ("transport", "resolver.rs", "Resolver"),
];

/// Methods of the shared types that only the last stage calls. Others have some
/// of the same name.
const NAMESAKES: [(&str, &str); 2] = [("Crawl", "stop"), ("Crawl", "take_back")];

/// What callbacks and coroutines call alike.
const CALLS: [&str; 43] = [
    "Candidates::current",
    "Candidates::failed",
    "Candidates::failure",
    "Candidates::left",
    "Candidates::new",
    "ConnectQueue::enter",
    "ConnectQueue::leave",
    "ConnectQueue::let_in",
    "ConnectQueue::line",
    "ConnectQueue::new",
    "ConnectQueue::waiter_mut",
    "Crawl::begin",
    "Crawl::conclude",
    "Crawl::end",
    "Crawl::new",
    "Crawl::roots",
    "Patience::deadline",
    "Patience::heard",
    "Patience::is_next_address_due",
    "Patience::lost",
    "Patience::new",
    "Patience::pause",
    "Patience::resume",
    "Patience::try_address",
    "Resolver::answered",
    "Resolver::known",
    "Resolver::look_up",
    "Resolver::new",
    "Resolver::take_back",
    "Resolver::waiter_mut",
    "Security::layer",
    "Security::new",
    "Stream::blocked_on",
    "Stream::is_drained",
    "Stream::new",
    "Stream::socket",
    "Visit::host_and_port",
    "Visit::interrupted",
    "Visit::judge",
    "Visit::receive",
    "Visit::receive_end",
    "Visit::request",
    "Visit::secure_host",
];

/// A task survives the panic of its coroutine, and then has to know whose it was.
/// The panic of a callback is the loop's. And a task has one timer around all that it does, which has to know
/// when a turn is waited for no longer.
const ONLY_COROUTINES: [&str; 3] = ["Crawl::abandon", "Patience::pause_until", "Visit::job"];

#[test]
fn callbacks_and_coroutines_make_the_same_calls() {
    let and = |others: &[&'static str]| CALLS.into_iter().chain(others.to_vec()).collect();
    let expected: [BTreeSet<&str>; 2] = [and(&[]), and(&ONLY_COROUTINES)];
    let found = [calls("stage1-callbacks"), calls("stage2-coroutines")];
    for (found, expected) in found.iter().zip(expected) {
        let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn what_is_made_by_hand_is_not_made_by_the_compiler() {
    let is_async = |text: &str| {
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.any(|word| word == "async" || word == "await")
    };
    let by_hand = code(&source("stage2-coroutines", "by_hand.rs"));
    assert!(by_hand.contains("fn poll("));
    assert!(!is_async(&by_hand), "{by_hand}");
    // It would have been found.
    assert!(is_async(&code(&source("stage2-coroutines", "io.rs"))));
}

/// The methods of the shared types that a crate calls, by their names.
fn calls(name: &str) -> BTreeSet<String> {
    let all_code: String = sources(name).iter().map(|(_, text)| code(text)).collect();
    let mut calls = BTreeSet::new();
    for (core, file, class) in SHARED {
        for method in methods(&source(core, file), class) {
            let as_function = all_code.contains(&format!("{class}::{method}("));
            let as_method =
                !NAMESAKES.contains(&(class, &method)) && all_code.contains(&format!(".{method}("));
            if as_function || as_method {
                calls.insert(format!("{class}::{method}"));
            }
        }
    }
    calls
}

fn code(source: &str) -> String {
    code_lines(source).flat_map(|line| [line, "\n"]).collect()
}

/// The public methods of a type.
fn methods(source: &str, class: &str) -> Vec<String> {
    let mut methods = Vec::new();
    let mut is_inside = false;
    for line in code_lines(source) {
        if let Some(head) = line.strip_suffix(" {").filter(|head| head.starts_with("impl")) {
            let name = head.rsplit(' ').next().unwrap_or_default();
            let is_class = name.split('<').next() == Some(class);
            is_inside = is_class && !head.contains(" for ");
        }
        if let Some(method) = line.strip_prefix("pub fn ").filter(|_| is_inside) {
            methods.extend(method.split(['(', '<']).next().map(str::to_owned));
        }
    }
    assert!(!methods.is_empty(), "no methods of {class}");
    methods
}
