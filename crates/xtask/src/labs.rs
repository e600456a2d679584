//! Labs: bugs that are planted in a copy of the workspace, to be looked at.
//!
//! A lab has functions that replace those of the sources, each whole and with a mistake in it. There are two kinds: *bugs*, each with a
//! program in `book-programs` that goes well without it, and *changes*, which a page
//! of the book proposes, each with the tests that fail then.

mod copy;
mod diff;
mod recorded;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::functions;
use crate::process::{self, BUILD_TIMEOUT};
use copy::copy_with;

/// The files of the labs: bugs and changes, each under its name.
const BUGS: &str = "crates/book-programs/bugs.toml";
const CHANGES: &str = "crates/book-programs/changes.toml";

/// The seeds within which the exploration of orders has to find a bug.
const ORDERS: &str = "0..10000";

/// The timeout of a program with a bug in it.
const RUN_TIMEOUT: Duration = Duration::from_secs(20);

/// The timeout of tests with a change in the sources; some hang until their own
/// watchdogs end them.
const TEST_TIMEOUT: Duration = Duration::from_secs(180);

/// Arguments of `cargo xtask lab`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Lists all labs
    #[arg(long, exclusive = true)]
    list: bool,
    /// Makes each change that the book proposes, and looks whether the tests that it names
    /// fail
    #[arg(long, exclusive = true)]
    changes: bool,
    /// Plants the bugs that are a matter of order, and looks whether a random order of
    /// the tasks shows them: all, or the one with this name
    #[arg(long, exclusive = true, value_name = "all|NAME")]
    orders: Option<String>,
    /// Plants the bugs, and records their runs for the playground of the book: all, or
    /// the one with this name
    #[arg(long, conflicts_with = "name", value_name = "all|NAME")]
    record: Option<String>,
    /// Compares with what is recorded instead
    #[arg(long, requires = "record")]
    check: bool,
    /// The lab
    #[arg(required_unless_present_any = ["list", "changes", "orders", "record"])]
    name: Option<String>,
}

/// A function of the sources that is replaced by a wrong one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Replacement {
    file: String,
    /// The path of the function, as in Rust: see [`functions`].
    function: String,
    /// The whole function with the mistake, but without its documentation.
    wrong: String,
}

/// A bug, shown by the program of the same name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bug {
    title: String,
    /// True if the bug shows in some orders of the tasks only, so that the exploration of
    /// orders has to find it.
    #[serde(default)]
    of_order: bool,
    #[serde(rename = "replace")]
    replacements: Vec<Replacement>,
}

/// A change that a page of the book proposes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    /// The page, in `book/src`.
    page: String,
    /// A command on the page that comes first, and succeeds.
    before: Option<String>,
    /// The command on the page that shows the effect.
    command: String,
    /// The tests that fail then, by the last words of their names.
    #[serde(default)]
    fails: Vec<String>,
    /// True if others may fail as well.
    #[serde(default)]
    others_fail: bool,
    /// A text that the command says.
    #[serde(default)]
    says: String,
    #[serde(rename = "replace")]
    replacements: Vec<Replacement>,
}

impl Replacement {
    /// Returns the text of its file with the wrong function in it.
    fn apply(&self, text: &str) -> Result<String, String> {
        let right = self.right(text)?;
        Ok(text[..right.start].to_owned() + self.wrong.trim_end() + &text[right.end..])
    }

    /// Returns the changed lines of the function: what was right `-`, what is wrong `+`.
    fn diff(&self, text: &str) -> Result<String, String> {
        Ok(diff::of(&text[self.right(text)?], self.wrong.trim_end()))
    }

    /// Returns the place of the function that is replaced, its indentation included.
    fn right(&self, text: &str) -> Result<Range<usize>, String> {
        let found = functions::find(text, &self.function);
        found
            .map(|it| it.all.start - it.indent..it.all.end)
            .map_err(|error| format!("{} {error}", self.file))
    }
}

/// Does what the arguments ask for. Returns false if a lab does not show its bug.
///
/// # Errors
/// When a lab cannot be read, applied or built.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> io::Result<bool> {
    match arguments {
        Arguments { list: true, .. } => list(root),
        Arguments { changes: true, .. } => check_changes(root),
        Arguments { orders: Some(which), .. } => explore_orders(root, which),
        Arguments { record: Some(which), check, .. } => {
            recorded::record(root, &chosen(root, which)?, *check)
        }
        Arguments { name: Some(name), .. } => match load::<Bug>(root, BUGS)?.remove(name) {
            Some(bug) => show_bug(root, name, &bug),
            None => match load::<Change>(root, CHANGES)?.remove(name) {
                Some(change) => check_change(root, name, &change),
                None => Err(io::Error::other(format!("there is no lab {name}: see --list"))),
            },
        },
        Arguments { name: None, .. } => Ok(false),
    }
}

/// Returns the labs of a file by their names.
fn load<T: DeserializeOwned>(root: &Path, file: &str) -> io::Result<BTreeMap<String, T>> {
    let text = fs::read_to_string(root.join(file))?;
    toml::from_str(&text).map_err(|error| io::Error::other(format!("{file}: {error}")))
}

/// Returns the bugs with their names: all, or the one that is named.
fn chosen(root: &Path, which: &str) -> io::Result<BTreeMap<String, Bug>> {
    let mut bugs: BTreeMap<String, Bug> = load(root, BUGS)?;
    if which != "all" {
        bugs.retain(|name, _| name == which);
        if bugs.is_empty() {
            return Err(io::Error::other(format!("there is no bug {which}: see --list")));
        }
    }
    Ok(bugs)
}

fn list(root: &Path) -> io::Result<bool> {
    println!("Bugs, each with a program that shows it:");
    for (name, bug) in load::<Bug>(root, BUGS)? {
        println!("  {name:22} {}", bug.title);
    }
    println!("Changes that the book proposes, each with the tests that fail then:");
    for (name, change) in load::<Change>(root, CHANGES)? {
        println!("  {name:22} {}", change.page);
    }
    Ok(true)
}

/// Returns the functions that are replaced, each with its file and its changed lines.
fn describe(root: &Path, replacements: &[Replacement]) -> io::Result<String> {
    let mut descriptions = Vec::new();
    for replacement in replacements {
        let Replacement { file, function, .. } = replacement;
        let diff = replacement.diff(&fs::read_to_string(root.join(file))?);
        descriptions.push(format!("{file}, {function}\n{}", diff.map_err(io::Error::other)?));
    }
    Ok(descriptions.join("\n"))
}

/// Plants a bug, and shows what its program says then.
fn show_bug(root: &Path, name: &str, bug: &Bug) -> io::Result<bool> {
    println!("{}.", bug.title);
    print!("\n{}", describe(root, &bug.replacements)?);
    let copy = copy_with(root, &bug.replacements)?;
    let ended = process::run(build(name, &copy)?.arg(name), RUN_TIMEOUT)?;
    print!("\n{}", ended.output);
    if ended.timed_out {
        println!("It did not end within {RUN_TIMEOUT:?}.");
    }
    let is_shown = ended.code == Some(1);
    if !is_shown {
        println!("The bug does not show.");
    }
    Ok(is_shown)
}

/// Builds the programs of the labs in a copy. Returns the command that runs one.
fn build(name: &str, copy: &Path) -> io::Result<Command> {
    let mut cargo = process::cargo(copy)?;
    cargo.args(["build", "--quiet", "--offline", "-p", "book-programs", "--bin", "labs"]);
    let build = process::run(&mut cargo, BUILD_TIMEOUT)?;
    if build.code != Some(0) {
        return Err(io::Error::other(format!("{name} cannot be built:\n{}", build.output)));
    }
    let mut program = Command::new(process::target_folder()?.join("debug/labs"));
    program.env("RUST_BACKTRACE", "0");
    Ok(program)
}

/// Returns the bugs of order, all or one, with their names.
fn bugs_of_order(root: &Path, which: &str) -> io::Result<BTreeMap<String, Bug>> {
    let mut bugs = chosen(root, which)?;
    bugs.retain(|_, bug| bug.of_order);
    match bugs.len() {
        0 if which == "all" => Err(io::Error::other("there is no bug of order")),
        0 => Err(io::Error::other(format!("{which} is not a bug of order"))),
        _ => Ok(bugs),
    }
}

/// Plants the bugs of order, all or one, and has the crate `simulation` find each.
fn explore_orders(root: &Path, which: &str) -> io::Result<bool> {
    let mut good = true;
    for (name, bug) in bugs_of_order(root, which)? {
        println!("== {name}: {}.", bug.title);
        let copy = copy_with(root, &bug.replacements)?;
        let build = process::run(
            process::cargo(&copy)?.args(["build", "--quiet", "--offline", "-p", "simulation"]),
            BUILD_TIMEOUT,
        )?;
        if build.code != Some(0) {
            return Err(io::Error::other(format!("{name} cannot be built:\n{}", build.output)));
        }
        let mut program = Command::new(process::target_folder()?.join("debug/simulate"));
        let program = program.args(["--orders", ORDERS]).env("RUST_BACKTRACE", "0");
        let ended = process::run(program, TEST_TIMEOUT)?;
        println!("{}", ended.output.trim_end());
        good &= ended.code == Some(1);
    }
    Ok(good)
}

/// Makes the changes that the book proposes.
fn check_changes(root: &Path) -> io::Result<bool> {
    let mut good = true;
    for (name, change) in load::<Change>(root, CHANGES)? {
        good &= check_change(root, &name, &change)?;
    }
    Ok(good)
}

/// Makes a change, and looks whether the tests fail that the page names.
fn check_change(root: &Path, name: &str, change: &Change) -> io::Result<bool> {
    let begun = std::time::Instant::now();
    println!("== {name}, of {}", change.page);
    print!("\n{}", describe(root, &change.replacements)?);
    let copy = copy_with(root, &change.replacements)?;
    if let Some(before) = &change.before {
        let arguments = before.split(' ').skip(1);
        let ended = process::run(process::cargo(&copy)?.args(arguments), BUILD_TIMEOUT)?;
        if ended.code != Some(0) {
            println!("{}\n`{before}` fails", ended.output);
            return Ok(false);
        }
    }
    let (build, rest) = change.arguments();
    let ended = if build.is_empty() {
        process::run(process::cargo(&copy)?.args(rest), BUILD_TIMEOUT)?
    } else {
        let built =
            process::run(process::cargo(&copy)?.args(&build).arg("--no-run"), BUILD_TIMEOUT)?;
        if built.code == Some(0) {
            process::run(process::cargo(&copy)?.args(rest), TEST_TIMEOUT)?
        } else {
            built
        }
    };
    let mut findings = change.findings(&ended.output, ended.code == Some(0));
    if ended.timed_out {
        findings.push("it did not end in time".to_owned());
    }
    println!("\n$ {}", change.command);
    if findings.is_empty() {
        let failed = failed_tests(&ended.output);
        println!("fails as the book says: {}", failed.into_iter().collect::<Vec<_>>().join(", "));
    } else {
        println!("{}\n{}", ended.output, findings.join("\n"));
    }
    println!("({:.1} s)", begun.elapsed().as_secs_f64());
    Ok(findings.is_empty())
}

impl Change {
    /// Returns the arguments for cargo that build the tests, none if it runs no tests,
    /// and those that run them.
    fn arguments(&self) -> (Vec<&str>, Vec<&str>) {
        let all: Vec<&str> = self.command.split(' ').skip(1).collect();
        let build = all.iter().take_while(|argument| **argument != "--").copied();
        let is_test = all.first() == Some(&"test");
        (if is_test { build.collect() } else { Vec::new() }, all)
    }

    /// Returns what is not as the page says.
    fn findings(&self, output: &str, succeeded: bool) -> Vec<String> {
        let mut findings = Vec::new();
        if succeeded {
            findings.push("the command succeeds, and should fail".to_owned());
        }
        let failed = failed_tests(output);
        let is_named = |test: &String| self.fails.iter().any(|name| ends_with(test, name));
        for name in &self.fails {
            if !failed.iter().any(|test| ends_with(test, name)) {
                findings.push(format!("{name} does not fail"));
            }
        }
        for test in failed.iter().filter(|test| !self.others_fail && !is_named(test)) {
            findings.push(format!("{test} fails, of which {} says nothing", self.page));
        }
        if !output.contains(&self.says) {
            findings.push(format!("it does not say: {}", self.says));
        }
        findings
    }
}

/// Returns true if a test, with its modules, has this name.
fn ends_with(test: &str, name: &str) -> bool {
    test.rsplit("::").next() == Some(name)
}

/// Returns the tests that have failed: cargo lists them at the end, indented.
fn failed_tests(output: &str) -> BTreeSet<String> {
    let mut failed = BTreeSet::new();
    let mut is_list = false;
    for line in output.lines() {
        let name = line.strip_prefix("    ").filter(|name| !name.contains(' '));
        match name {
            Some(name) if is_list => drop(failed.insert(name.to_owned())),
            _ => is_list = line == "failures:" || is_list && line.is_empty(),
        }
    }
    failed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::Function;

    fn root() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// Returns the replacements of all labs, with the names of the labs.
    fn replacements() -> Vec<(String, Replacement)> {
        let mut replacements = Vec::new();
        for (name, bug) in load::<Bug>(&root(), BUGS).unwrap() {
            replacements.extend(bug.replacements.into_iter().map(|it| (name.clone(), it)));
        }
        for (name, change) in load::<Change>(&root(), CHANGES).unwrap() {
            replacements.extend(change.replacements.into_iter().map(|it| (name.clone(), it)));
        }
        replacements
    }

    #[test]
    fn every_wrong_function_has_the_signature_of_the_right_one() {
        let replacements = replacements();
        assert!(replacements.len() > 30, "{}", replacements.len());
        for (name, replacement) in replacements {
            let text = fs::read_to_string(root().join(&replacement.file)).unwrap();
            let Replacement { file, function, wrong } = &replacement;
            let right = functions::find(&text, function);
            let right = right.unwrap_or_else(|error| panic!("{name}: {file} {error}"));
            let last = function.rsplit("::").next().unwrap();
            let found = functions::find(wrong, last);
            let found = found.unwrap_or_else(|error| panic!("{name}: its text {error}"));
            assert_eq!(wrong[found.all.clone()], *wrong.trim(), "{name}: one function, no more");
            let of = |text: &str, found: Function| -> String {
                let signature = &text[found.all.start..found.body.start];
                signature.split_whitespace().collect::<Vec<_>>().join(" ")
            };
            assert_eq!(of(wrong, found), of(&text, right), "{name}: {function}");
            assert!(!replacement.diff(&text).unwrap().is_empty(), "{name}: {function}");
        }
    }

    #[test]
    fn a_bug_without_order_is_not_explored() {
        let error = explore_orders(&root(), "one-read").unwrap_err();
        assert_eq!(error.to_string(), "one-read is not a bug of order");
    }

    #[test]
    fn where_no_bug_is_one_of_order_all_of_them_are_an_error() {
        assert!(!bugs_of_order(&root(), "all").unwrap().is_empty());
        let root = tempfile::tempdir().unwrap();
        let bug = root.path().join(BUGS);
        fs::create_dir_all(bug.parent().unwrap()).unwrap();
        fs::write(bug, "[a]\ntitle = \"A\"\nreplace = []\n").unwrap();
        let error = explore_orders(root.path(), "all").unwrap_err();
        assert_eq!(error.to_string(), "there is no bug of order");
    }

    #[test]
    fn a_page_tells_the_command_of_its_change_and_the_tests_that_fail() {
        for (name, change) in load::<Change>(&root(), CHANGES).unwrap() {
            let page = root().join("book/src").join(&change.page);
            // A long command goes on in a second line.
            let page = fs::read_to_string(page).unwrap().replace(" \\\n    ", " ");
            let is_command = |line: &str| line.strip_prefix("$ ").unwrap_or(line) == change.command;
            assert!(page.lines().any(is_command), "{name}");
            let before = change.before.iter().all(|before| page.contains(&format!("$ {before}\n")));
            assert!(before, "{name}");
            for test in &change.fails {
                // By its name, or by the filter in the command.
                let is_told = page.contains(&format!("`{test}`"));
                let mut words = change.command.split([' ', ':']);
                let is_asked = words.any(|word| !word.is_empty() && test.contains(word));
                assert!(is_told || is_asked, "{name}: {test}");
            }
        }
    }

    #[test]
    fn every_page_that_proposes_changes_has_as_many_labs() {
        let changes = load::<Change>(&root(), CHANGES).unwrap();
        let pages: Vec<&String> = changes.values().map(|change| &change.page).collect();
        let src = root().join("book/src");
        let mut proposed = 0;
        for path in crate::book::files_below(&src)
            .unwrap()
            .into_iter()
            .filter(|path| path.extension().is_some_and(|e| e == "md"))
        {
            let text = fs::read_to_string(&path).unwrap();
            let count =
                text.matches("**Change something").count() + text.matches("**And another").count();
            let page = path.strip_prefix(&src).unwrap().to_string_lossy().into_owned();
            assert_eq!(pages.iter().filter(|of| ***of == page).count(), count, "{page}");
            proposed += count;
        }
        assert_eq!(proposed, changes.len());
    }

    #[test]
    fn a_function_is_replaced_or_the_error_names_it_and_its_file() {
        let of = |function: &str| Replacement {
            file: "a.rs".into(),
            function: function.into(),
            wrong: "fn two() { 3 }\n".into(),
        };
        let text = "fn one() {}\n/// Two.\n#[inline]\nfn two() { 2 }\n";
        let applied = of("two").apply(text).unwrap();
        assert_eq!(applied, "fn one() {}\n/// Two.\n#[inline]\nfn two() { 3 }\n");
        assert_eq!(of("A::two").apply(text).unwrap_err(), "a.rs has no function A::two");
    }

    #[test]
    fn failed_tests_are_read_from_the_last_list() {
        let output = "running 2 tests\nF\nfailures:\n\n---- a::b stdout ----\n\n    some text\n\n\
                      failures:\n    a::b\n    c\n\ntest result: FAILED. 0 passed; 2 failed\n";
        assert_eq!(failed_tests(output).into_iter().collect::<Vec<_>>(), ["a::b", "c"]);
        assert!(ends_with("a::b", "b") && !ends_with("a::xb", "b"));
    }

    #[test]
    fn a_change_is_as_the_page_says_or_is_a_finding() {
        let change = |fails: &[&str], others_fail| Change {
            page: "a.md".into(),
            before: None,
            command: "cargo test -q -p p -- x y".into(),
            fails: fails.iter().map(|name| (*name).to_owned()).collect(),
            others_fail,
            says: String::new(),
            replacements: Vec::new(),
        };
        let output = "failures:\n    m::one\n    m::two\n";
        assert!(change(&["one", "two"], false).findings(output, false).is_empty());
        assert_eq!(change(&["one"], false).findings(output, false).len(), 1);
        assert!(change(&["one"], true).findings(output, false).is_empty());
        assert_eq!(change(&["three"], true).findings(output, false), ["three does not fail"]);
        assert_eq!(change(&[], false).findings("", true).len(), 1);
        let change = change(&[], false);
        assert_eq!(change.arguments().0, ["test", "-q", "-p", "p"]);
        assert_eq!(change.arguments().1.len(), 7);
    }
}
