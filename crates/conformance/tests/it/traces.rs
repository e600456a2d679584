//! The traces that the programs write: well-formed, and in accord with the rows and
//! with what `strace` counts.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use serde_json::Value;
use test_support::programs::program;

use crate::common::demo_site;

const PROGRAMS: [&str; 4] = ["stage0-threads", "stage1-callbacks", "stage2-coroutines", "crawl"];

/// A crawl by one of the programs, with its rows and its trace.
struct Crawl {
    folder: PathBuf,
}

impl Crawl {
    /// Runs a program, by way of `wrapper` if that is given.
    fn run(name: &str, url: &str, wrapper: &[&str]) -> Self {
        // Each run has its own, since tests run at the same time.
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let run = RUNS.fetch_add(1, Relaxed);
        let folder = format!("trace-{name}-{run}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let crawl = Self { folder };
        let counts = crawl.path("counts");
        let wrapper = wrapper.iter().map(Path::new);
        let mut words = wrapper.map(|word| if word == "COUNTS" { &counts } else { word });
        let program = program(name);
        let mut command = match words.next() {
            Some(wrapper) => {
                let mut command = Command::new(wrapper);
                command.args(words).arg(&program);
                command
            }
            None => Command::new(&program),
        };
        let status = command
            .args(["--quiet", "-j", "20", "--format", "jsonl", "-o"])
            .arg(crawl.path("rows"))
            .arg("--trace")
            .arg(crawl.path("trace.json"))
            .arg(url)
            .status();
        assert!(status.unwrap().success(), "{name}: {}", crawl.read("rows"));
        crawl
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    fn trace(&self) -> Value {
        serde_json::from_str(&self.read("trace.json")).unwrap()
    }
}

impl Drop for Crawl {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn events(trace: &Value) -> impl Iterator<Item = &Value> {
    let events = trace["traceEvents"].as_array().unwrap().iter();
    events.filter(|event| event["ph"] != "M")
}

/// Returns the number of events with this name and phase.
fn count(trace: &Value, name: &str, phase: &str) -> usize {
    events(trace).filter(|event| event["name"] == name && event["ph"] == phase).count()
}

#[test]
fn every_program_writes_a_well_formed_trace() {
    let site = demo_site(30, |_| ());
    for name in PROGRAMS {
        let crawl = Crawl::run(name, &site.url("/"), &[]);
        let trace = crawl.trace();
        let other = &trace["otherData"];
        assert_eq!((&other["format"], &other["version"]), (&"fourways-trace".into(), &1.into()));
        let stage = name.split('-').next().filter(|stage| *stage != "crawl").unwrap_or("stage3");
        assert_eq!(other["stage"], stage, "{name}");
        assert_eq!(other["dropped"], 0, "{name}");

        // Time never goes back, and the spans of a lane are nested.
        let mut open: HashMap<u64, Vec<&Value>> = HashMap::new();
        let mut last = 0.0;
        for event in events(&trace) {
            let time = event["ts"].as_f64().unwrap();
            assert!(time >= last, "{name}: {event} after {last}");
            last = time;
            let spans = open.entry(event["tid"].as_u64().unwrap()).or_default();
            match event["ph"].as_str().unwrap() {
                "B" => spans.push(&event["name"]),
                "E" => assert_eq!(spans.pop(), Some(&event["name"]), "{name}: {event}"),
                _ => {}
            }
        }
        assert!(open.values().all(Vec::is_empty), "{name}: {open:?}");

        // A fetch for each row that was fetched, with its outcome.
        let rows = crawl.read("rows");
        let rows = rows.lines().map(|row| serde_json::from_str::<Value>(row).unwrap());
        let rows: Vec<Value> = rows.filter(|row| row["tries"] != 0).collect();
        let ends = events(&trace).filter(|event| event["name"] == "fetch" && event["ph"] == "E");
        let ends: HashMap<&str, &Value> =
            ends.map(|end| (end["args"]["url"].as_str().unwrap(), &end["args"])).collect();
        assert!(rows.len() >= 30, "{name}: {rows:?}");
        for row in &rows {
            let end = ends.get(row["url"].as_str().unwrap());
            let end = end.unwrap_or_else(|| panic!("{name}: {row}"));
            assert_eq!((&end["status"], &end["outcome"]), (&row["status"], &row["outcome"]));
        }
        for event in ["read", "write"] {
            assert!(count(&trace, event, "i") >= 30, "{name}: {event}");
        }
        assert_eq!(count(&trace, "connect", "i"), count(&trace, "close", "i"), "{name}");
        let what_is_told = match name {
            "stage0-threads" => &[][..],
            "stage1-callbacks" => &["callback", "select", "tick"],
            _ => &["step", "select", "tick"],
        };
        for span in what_is_told {
            assert!(count(&trace, span, "B") > 5, "{name}: {span}");
        }
    }
}

/// The page holds the same trace, and nothing is loaded.
#[test]
fn the_page_of_a_trace_holds_the_whole_trace() {
    let site = demo_site(5, |_| ());
    let page = std::env::temp_dir().join(format!("trace-{}.html", std::process::id()));
    let mut command = Command::new(program("stage2-coroutines"));
    command.args(["-q", "-o", "/dev/null", "--trace"]).arg(&page).arg(site.url("/"));
    assert!(command.status().unwrap().success());
    let text = fs::read_to_string(&page).unwrap();
    fs::remove_file(page).unwrap();
    let (_, after) = text.split_once(r#"<script type="application/json" id="trace">"#).unwrap();
    let (json, _) = after.split_once("</script>").unwrap();
    let trace: Value = serde_json::from_str(json).unwrap();
    assert!(count(&trace, "fetch", "E") >= 5);
    assert!(text.contains("<noscript>"), "readers without JavaScript learn why they see nothing");
}

/// The reader finds the lines at which steps and callbacks are.
#[test]
fn a_trace_names_lines_of_the_sources_in_it() {
    let site = demo_site(5, |_| ());
    for (name, function) in
        [("stage1-callbacks", "fn read_response("), ("stage2-coroutines", ".await")]
    {
        let trace = Crawl::run(name, &site.url("/"), &[]).trace();
        let places = events(&trace).map(|event| &event["args"]["at"]).filter(|at| at.is_object());
        let mut found = 0;
        for at in places {
            let file = at["file"].as_str().unwrap();
            let source = trace["otherData"]["sources"][file].as_str();
            let line = at["line"].as_u64().unwrap() as usize;
            let source = source.unwrap_or_else(|| panic!("{name}: no text of {file}"));
            found += usize::from(source.lines().nth(line - 1).unwrap().contains(function));
        }
        assert!(found > 0, "{name}: {function}");
        if name == "stage1-callbacks" {
            let callbacks = events(&trace).filter(|event| event["name"] == "callback");
            let mut begun = callbacks.filter(|event| event["ph"] == "B");
            assert!(begun.all(|event| event["args"]["at"].is_object()), "each has its place");
        }
    }
    let trace = Crawl::run("crawl", &site.url("/"), &[]).trace();
    let values = events(&trace).filter(|event| event["name"] == "unfinished");
    let values: Vec<u64> = values.map(|event| event["args"]["value"].as_u64().unwrap()).collect();
    assert!(values.iter().max() > Some(&1) && values.last() == Some(&0), "{values:?}");
    assert_eq!(count(&trace, "put", "i"), count(&trace, "task_done", "i"));
}

/// The witness is the operating system.
#[test]
#[ignore = "needs strace: run .ci/real-peers"]
fn a_trace_has_the_system_calls_that_strace_counts() {
    let site = demo_site(200, |_| ());
    // Without `-f`: only the thread of the loop. The others wait for signals.
    let strace = ["strace", "-c", "-U", "calls,name", "-o", "COUNTS"];
    for name in ["stage1-callbacks", "stage2-coroutines", "crawl"] {
        let crawl = Crawl::run(name, &site.url("/"), &strace);
        let (trace, counts) = (crawl.trace(), crawl.read("counts"));
        let counted = |calls: &[&str]| -> usize {
            let lines = counts.lines().filter_map(|line| line.trim().split_once(' '));
            let of = lines.filter(|(_, name)| calls.contains(&name.trim()));
            of.filter_map(|(number, _)| number.parse::<usize>().ok()).sum()
        };
        let told = ["select", "read", "write"]
            .map(|event| count(&trace, event, if event == "select" { "B" } else { "i" }));
        let counted = [&["epoll_wait"][..], &["recvfrom"], &["sendto", "writev"]].map(counted);
        println!("{name}: {told:?} waits, reads and writes");
        assert_eq!(told, counted, "{name}: {counts}");
        assert!(told.iter().all(|number| *number > 5), "{name}: {told:?}");
    }
}
