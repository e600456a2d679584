//! The recorded runs of labs, which the playground of the book shows: programs that
//! use threads and the operating system cannot run in a browser.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use crate::programs;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Bug, RUN_TIMEOUT, build, copy_with, describe};
use crate::process;

/// The run of a program with a bug in it.
#[derive(Debug, Serialize, Deserialize)]
struct Run {
    title: String,
    /// The functions with the bug, and their changed lines.
    bug: String,
    /// The text that the program says.
    output: String,
    /// The trace, with the source files that it names.
    trace: Value,
}

/// Runs the programs of labs, and records the runs, or compares them with those that are
/// recorded. Returns false if one differs, or does not show its bug.
///
/// # Errors
/// When a lab cannot be read, applied, built or written.
pub(super) fn record(
    root: &Path,
    bugs: &BTreeMap<String, Bug>,
    is_check: bool,
) -> io::Result<bool> {
    let mut good = true;
    for (name, bug) in bugs {
        let run = run(root, name, bug)?;
        if is_check {
            let recorded: Run =
                serde_json::from_slice(&programs::read_script(root, &script(name))?)?;
            let is_same = recorded.lasting() == run.lasting();
            println!("{name}: {}", if is_same { "the same" } else { "is no longer as recorded" });
            good &= is_same;
        } else {
            let size = programs::write_script(root, &script(name), &serde_json::to_vec(&run)?)?;
            println!("{name}: packed {size}");
        }
    }
    Ok(good)
}

/// Returns the name of the script of a lab.
fn script(name: &str) -> String {
    format!("lab-{name}")
}

fn run(root: &Path, name: &str, bug: &Bug) -> io::Result<Run> {
    let copy = copy_with(root, &bug.replacements)?;
    let file = tempfile::NamedTempFile::new()?;
    let mut program = build(name, &copy)?;
    let ended = process::run(program.arg(name).arg(file.path()), RUN_TIMEOUT)?;
    if ended.code != Some(1) {
        return Err(io::Error::other(format!("{name} does not show its bug:\n{}", ended.output)));
    }
    let mut trace: Value = serde_json::from_slice(&fs::read(file.path())?)?;
    let files: BTreeSet<String> = files(&trace);
    let mut sources = BTreeMap::new();
    for file in files {
        sources.insert(file.clone(), fs::read_to_string(copy.join(file))?);
    }
    trace["otherData"]["sources"] = serde_json::to_value(sources)?;
    Ok(Run {
        title: bug.title.clone(),
        bug: describe(root, &bug.replacements)?,
        output: ended.output,
        trace,
    })
}

/// Returns the source files that the events of a trace name.
fn files(trace: &Value) -> BTreeSet<String> {
    let events = trace["traceEvents"].as_array().into_iter().flatten();
    let files = events.filter_map(|event| event["args"]["at"]["file"].as_str());
    files.map(str::to_owned).collect()
}

impl Run {
    /// Returns what is the same in each run: all but times, and how often something
    /// happens in them.
    fn lasting(&self) -> (&str, &str, String, Vec<&Value>) {
        let Self { title, bug, output, trace } = self;
        let about = &trace["otherData"];
        let lanes = about["lanes"].as_array().into_iter().flatten().map(|lane| &lane["name"]);
        // Times have units that are not digits.
        let lines = output.lines().map(|line| line.split(" for ").next().unwrap_or_default());
        let output: String = lines.flat_map(str::chars).filter(|c| !c.is_ascii_digit()).collect();
        (title, bug, output, lanes.chain([&about["sources"]]).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::{BUGS, load};
    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn the_run_of_every_lab_is_recorded_with_the_bug_of_today() {
        let page = fs::read_to_string(root().join("book/src/play/playground-page.js")).unwrap();
        for (name, bug) in load::<Bug>(&root(), BUGS).unwrap() {
            let run = programs::read_script(&root(), &script(&name)).unwrap();
            let run: Run = serde_json::from_slice(&run).unwrap();
            let description = describe(&root(), &bug.replacements).unwrap();
            assert_eq!((&run.title, run.bug), (&bug.title, description), "{name}");
            assert!(page.contains(&format!("[{name:?}, {:?}]", bug.title)), "{name}");
            assert!(!run.output.is_empty(), "{name}");
            let sources = run.trace["otherData"]["sources"].as_object().unwrap();
            let files = files(&run.trace);
            assert!(!files.is_empty(), "{name} names no line of a source");
            assert!(files.iter().all(|file| sources.contains_key(file)), "{name}");
        }
    }

    #[test]
    fn a_run_differs_by_more_than_its_times() {
        let run = |output: &str, name: &str| Run {
            title: "A bug".into(),
            bug: "-a\n+b\n".into(),
            output: output.into(),
            trace: serde_json::json!({"otherData": {"lanes": [{"name": name}]}, "traceEvents": []}),
        };
        let first = run("task a, reading from :80 for 1.0s", "a");
        assert_eq!(first.lasting(), run("task a, reading from :81 for 99ms", "a").lasting());
        assert_ne!(first.lasting(), run("task b, reading from :80 for 1.0s", "a").lasting());
        assert_ne!(first.lasting(), run("task a, reading from :80 for 1.0s", "b").lasting());
    }
}
