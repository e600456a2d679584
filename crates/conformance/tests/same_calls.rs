//! The calls of the stages into the cores: callbacks and coroutines make the
//! same ones, because the stages differ in little but control flow.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeSet;

use test_support::sources::{code_lines, source, sources};

/// The types that the stages share: crate, file and name.
const SHARED: [(&str, &str, &str); 8] = [
    ("crawl-core", "crawl.rs", "Crawl"),
    ("crawl-core", "visit.rs", "Visit"),
    ("crawl-core", "deadline.rs", "Deadline"),
    ("transport", "candidates.rs", "Candidates"),
    ("transport", "connect_limiter.rs", "ConnectLimiter"),
    ("transport", "tls_connector.rs", "TlsConnector"),
    ("transport", "stream.rs", "Stream"),
    ("transport", "resolver.rs", "Resolver"),
];

/// Methods of the shared types that these stages do not call, although they call
/// methods of the same names on other types.
const AMBIGUOUS: [(&str, &str); 3] = [("Crawl", "progress"), ("Crawl", "stop"), ("Visit", "port")];

/// The methods that both callbacks and coroutines call.
const CALLS: [&str; 43] = [
    "Candidates::current",
    "Candidates::failed",
    "Candidates::failure",
    "Candidates::left",
    "Candidates::new",
    "ConnectLimiter::acquire",
    "ConnectLimiter::address_id",
    "ConnectLimiter::new",
    "ConnectLimiter::release",
    "ConnectLimiter::retry",
    "ConnectLimiter::waiter_mut",
    "Crawl::begin",
    "Crawl::complete",
    "Crawl::end",
    "Crawl::new",
    "Crawl::roots",
    "Deadline::address_timed_out",
    "Deadline::at",
    "Deadline::new",
    "Deadline::pause",
    "Deadline::progress",
    "Deadline::resume",
    "Deadline::start_address",
    "Deadline::timeout_error",
    "Resolver::answered",
    "Resolver::cached",
    "Resolver::cancel",
    "Resolver::lookup",
    "Resolver::new",
    "Resolver::waiter_mut",
    "Stream::blocked_on",
    "Stream::is_drained",
    "Stream::new",
    "Stream::socket",
    "TlsConnector::layer",
    "TlsConnector::new",
    "Visit::host_and_port",
    "Visit::interrupted",
    "Visit::judge",
    "Visit::receive",
    "Visit::receive_end",
    "Visit::request",
    "Visit::secure_host",
];

/// The methods that only coroutines call. A fetch that panics ends as the row
/// of its job, while a panic in a callback ends the loop. And a task has one
/// timer for all its phases, so the deadline has to say when a paused task
/// is to wake up.
const ONLY_COROUTINES: [&str; 3] = ["Crawl::abandon", "Deadline::pause_until", "Visit::job"];

#[test]
fn callbacks_and_coroutines_make_the_same_calls() {
    let and = |others: &[&'static str]| CALLS.into_iter().chain(others.to_vec()).collect();
    let expected: [BTreeSet<&str>; 2] = [and(&[]), and(&ONLY_COROUTINES)];
    let actual = [calls("stage1-callbacks"), calls("stage2-coroutines")];
    for (actual, expected) in actual.iter().zip(expected) {
        let actual: BTreeSet<&str> = actual.iter().map(String::as_str).collect();
        assert_eq!(actual, expected);
    }
}

#[test]
fn the_futures_written_by_hand_use_neither_async_nor_await() {
    let is_async = |text: &str| {
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.any(|word| word == "async" || word == "await")
    };
    let read_by_hand = code(&source("stage2-coroutines", "read_by_hand.rs"));
    assert!(read_by_hand.contains("fn poll("));
    assert!(!is_async(&read_by_hand), "{read_by_hand}");
    // The search does find these words where they are used.
    assert!(is_async(&code(&source("stage2-coroutines", "io.rs"))));
}

/// Returns the names of the methods of the shared types that a crate calls.
fn calls(name: &str) -> BTreeSet<String> {
    let all_code: String = sources(name).iter().map(|(_, text)| code(text)).collect();
    let mut calls = BTreeSet::new();
    for (core, file, class) in SHARED {
        for method in methods(&source(core, file), class) {
            let as_function = all_code.contains(&format!("{class}::{method}("));
            let as_method =
                !AMBIGUOUS.contains(&(class, &method)) && all_code.contains(&format!(".{method}("));
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

/// Returns the names of the public methods of a type.
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
