//! The tables of `names_of_asyncio`: they are complete, their links name items
//! that exist, and their examples are as the text says. (Rustdoc checks that the
//! links themselves are valid.)

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const SOURCE: &str = include_str!("../../src/names_of_asyncio.md");

/// Every name in the reference of asyncio's tasks and coroutines.
const ASYNCIO: &[&str] = &[
    // coroutines
    "coroutine",
    "coroutine function",
    "coroutine object",
    "iscoroutine",
    "iscoroutinefunction",
    "yield from future",
    "yield from coroutine",
    "return",
    "raise",
    "not scheduled",
    // exceptions
    "InvalidStateError",
    "TimeoutError",
    "CancelledError",
    // futures
    "Future",
    "Future.cancel",
    "Future.cancelled",
    "Future.done",
    "Future.result",
    "Future.exception",
    "Future.add_done_callback",
    "Future.remove_done_callback",
    "Future.set_result",
    "Future.set_exception",
    "concurrent.futures.Future",
    "concurrent.futures.wait",
    "concurrent.futures.as_completed",
    // tasks
    "Task",
    "create_task",
    "Task.all_tasks",
    "Task.current_task",
    "Task.cancel",
    "Task.get_stack",
    "Task.print_stack",
    // functions
    "as_completed",
    "async",
    "gather",
    "return_exceptions",
    "sleep",
    "shield",
    "wait",
    "return_when",
    "FIRST_COMPLETED",
    "FIRST_EXCEPTION",
    "ALL_COMPLETED",
    "wait_for",
    // the methods of the loop in its examples and notes
    "BaseEventLoop",
    "get_event_loop",
    "run_until_complete",
    "run_forever",
    "stop",
    "close",
    "call_soon",
    "call_later",
    "call_soon_threadsafe",
];

/// What a reader of today's asyncio types first, and is not in the reference above.
const SINCE: &[&str] = &[
    "TaskGroup",
    "TaskGroup.create_task",
    "ExceptionGroup",
    "except*",
    "timeout",
    "Timeout.when",
    "Timeout.reschedule",
    "Timeout.expired",
    "timeout_at",
    "Task.uncancel",
    "Task.cancelling",
    "Lock",
    "Event",
    "Semaphore",
    "BoundedSemaphore",
    "Condition",
    "Barrier",
    "Queue(maxsize)",
    "PriorityQueue",
    "LifoQueue",
];

/// What the chapter's program needs to end, and does not need here.
const CHAPTER: &[&str] = &["stop_callback", "StopError", "_join_future"];

/// Every name in the article on the step of asyncio's tasks, but for those that
/// it shares with the reference.
const STEP: &[&str] = &[
    "_step",
    "_wakeup",
    "send",
    "throw",
    "StopIteration",
    "__iter__",
    "__await__",
    "compat.PY35",
    "_asyncio_future_blocking",
    "yield from wasn't used with future",
    "ensure_future",
    "create_future",
    "_set_result_unless_cancelled",
    "Handle.cancel",
    "sleep(0)",
    "bare yield",
    "_coro",
    "_loop",
    "_fut_waiter",
    "_must_cancel",
    "_current_tasks",
    "already done",
    "cannot await on itself",
    "attached to a different loop",
    "yield was used instead of yield from",
    "isgenerator",
    "bad yield",
    "Exception",
    "BaseException",
    "RuntimeError",
];

/// Every name in the article on Tornado's coroutines.
const TORNADO: &[&str] = &[
    "gen.coroutine",
    "_make_coroutine_wrapper",
    "GeneratorType",
    "functools.wraps",
    "gen.Return",
    "gen.sleep",
    "yield",
    "Multi",
    "multi_future",
    "moment",
    "convert_yielded",
    "is_future",
    "BadYieldError",
    "YieldPoint",
    "IOLoop",
    "IOLoop.current",
    "run_sync",
    "future_cell",
    "TimeoutError",
    "add_future",
    "add_callback",
    "add_timeout",
    "remove_timeout",
    "IOLoop.time",
    "start",
    "stop",
    "Runner",
    "Runner.run",
    "running",
    "finished",
    "handle_yield",
    "handle_yielded",
    "next",
    "send",
    "throw",
    "StopIteration",
    "TracebackFuture",
    "set_exc_info",
    "result_future",
    "_null_future",
    "LeakedCallbackError",
    "pending_callbacks",
    "had_exception",
    "StackContext",
    "StackContextInconsistentError",
    "_deactivate_stack_context",
    "stack_context",
    "replace_callback",
];

fn documentation() -> impl Iterator<Item = &'static str> {
    SOURCE.lines().map(str::trim_start)
}

/// Returns the rows of the table under a heading: the name, and its counterpart.
fn rows(heading: &str) -> Vec<(&'static str, &'static str)> {
    let section = documentation().skip_while(|line| *line != heading).skip(1);
    let table = section.take_while(|line| !line.starts_with('#'));
    let cells = table.filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    let rows = cells.skip(2).map(|cells| cells.split_once('|').unwrap());
    rows.map(|(name, here)| (name.trim(), here.trim())).collect()
}

/// Returns the texts between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn check(heading: &str, names: &[&str]) {
    let rows = rows(heading);
    let in_table: BTreeSet<&str> = rows.iter().flat_map(|(name, _)| quoted(name)).collect();
    let in_document: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), in_document.len(), "a name is listed twice");
    let missing: Vec<_> = in_document.difference(&in_table).collect();
    assert!(missing.is_empty(), "not in the table of {heading:?}: {missing:?}");
    let unknown: Vec<_> = in_table.difference(&in_document).collect();
    assert!(unknown.is_empty(), "not in the document of {heading:?}: {unknown:?}");
    for (name, here) in rows {
        let is_linked = here.contains("[`") || here.contains("`.await`");
        let is_explained = here.starts_with("— ") && here.len() > 10;
        assert!(is_linked || is_explained, "{name} is neither linked nor explained: {here:?}");
    }
}

#[test]
fn every_name_of_asyncio_is_in_its_table() {
    check("# Tasks and coroutines in asyncio", ASYNCIO);
}

#[test]
fn what_ends_the_chapter_s_program_is_in_its_table() {
    check("# How the chapter's program ends", CHAPTER);
}

#[test]
fn what_asyncio_has_had_since_is_in_its_table() {
    check("# What asyncio has had since", SINCE);
}

#[test]
fn every_name_of_the_step_is_in_its_table() {
    check("# The step of a task in asyncio", STEP);
}

#[test]
fn every_name_of_tornado_is_in_its_table() {
    check("# Coroutines in Tornado", TORNADO);
}

/// Returns all sources of a folder, except that of the tables.
fn sources(directory: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &sources(&path);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text += &fs::read_to_string(path).unwrap();
        }
    }
    text
}

/// Returns true if a line of source defines an item, field or variant of this
/// name.
fn defines(line: &str, name: &str) -> bool {
    let words: Vec<_> = line.split_whitespace().collect();
    let is_name = |word: &&str| {
        let rest = word.strip_prefix(name);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let place = words.iter().position(is_name);
    match place {
        None => false,
        Some(0) => true,
        Some(n) => {
            ["pub", "fn", "struct", "enum", "trait", "mod", "type", "as"].contains(&words[n - 1])
        }
    }
}

#[test]
fn every_item_that_the_tables_link_to_is_defined() {
    let folders = ["src", "../stage2-coroutines/src"];
    let sources = folders.map(|name| sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(name)));
    let sources = sources.concat();
    let sources: Vec<_> = sources.lines().filter(|l| !l.trim().starts_with("//")).collect();
    let mut checked = 0;
    for link in documentation().flat_map(|line| line.split("[`").skip(1)) {
        let (label, rest) = link.split_once("`]").unwrap();
        let target = rest.strip_prefix('(').and_then(|rest| rest.split(')').next());
        let target = target.unwrap_or(label).trim_end_matches("()");
        if target.starts_with("std::") || ["IntoFuture", "Vec"].contains(&target) {
            continue;
        }
        for name in target.split("::") {
            let is_defined = sources.iter().any(|line| defines(line, name));
            assert!(is_defined, "{name} of {target} is not defined");
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} names were found");
}

/// Returns the code blocks: true for one that must not compile, and its lines.
fn programs() -> Vec<(bool, Vec<&'static str>)> {
    let mut programs = Vec::new();
    let mut lines = documentation();
    while let Some(line) = lines.next() {
        if let Some(attributes) = line.strip_prefix("```") {
            let code = lines.by_ref().take_while(|line| *line != "```").collect();
            programs.push((attributes.starts_with("compile_fail"), code));
        }
    }
    programs
}

#[test]
fn each_program_that_must_not_compile_differs_in_one_line_from_one_that_does() {
    let programs = programs();
    let forbidden = programs.iter().filter(|(fails, _)| *fails).count();
    assert_eq!(forbidden, 9);
    let mut pairs = 0;
    for pair in programs.windows(2) {
        let [(true, bad), (fails, good)] = pair else { continue };
        assert!(!fails, "two in a row that do not compile: {bad:?}");
        assert_eq!(bad.len(), good.len(), "{bad:?}");
        let differences = bad.iter().zip(good).filter(|(bad, good)| bad != good).count();
        assert_eq!(differences, 1, "{bad:?}");
        pairs += 1;
    }
    assert_eq!(pairs, forbidden, "one has none that compiles after it");
}
