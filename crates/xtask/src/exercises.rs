//! Exercises: crates made from the sources of a stage, with the bodies of some
//! functions removed, and with tests named after the tasks.
//!
//! The list of an exercise, in `crates/book-programs/exercises`, names the functions whose
//! bodies are removed, and has a hint for each. The tests are a module of the tests of the
//! stage, where they pass. So there is no second copy of anything, and the sources are the
//! solution.

mod manifest;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::book::files_below;
use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use crate::functions;
use crate::process::{self, BUILD_TIMEOUT, Ended};

/// The folder of the lists.
const LISTS: &str = "crates/book-programs/exercises";

/// The folder of exercises, relative to the root of the workspace. It is not the target
/// folder, which `cargo clean` deletes.
const FOLDER: &str = "exercises";

/// The file that says, in the folder of an exercise, which one it is.
const NAME_FILE: &str = "exercise.txt";

/// The page of the book with what each task needs.
const PAGE: &str = "book/src/exercises.md";

/// The page of the book to read when a test hangs.
const PAGE_ON_HANGS: &str = "book/src/why-does-it-hang.md";

/// The timeout of one test; a task that is done wrong may hang.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The limit on the length of a line of a hint.
const MAX_WIDTH: usize = 90;

/// Arguments of `cargo xtask exercise`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Checks that each exercise compiles, fails before, and passes with the solution
    #[arg(long, conflicts_with = "name")]
    check: bool,
    /// With --check, looks as well what passes after each task: its tests, and none of
    /// those behind it
    #[arg(long, requires = "check")]
    steps: bool,
    /// Writes it with the first N tasks done
    #[arg(long, value_name = "N", default_value_t = 0)]
    solved: usize,
    /// The exercise: smallest, stage1, stage2 or stage3
    #[arg(required_unless_present = "check")]
    name: Option<String>,
    /// The folder to write, a new one; exercises/NAME unless told
    folder: Option<PathBuf>,
}

/// An exercise.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exercise {
    title: String,
    /// The folder of a crate, or the file of an example that becomes a library.
    sources: PathBuf,
    /// The module of its tests.
    tests: PathBuf,
    #[serde(rename = "task")]
    tasks: Vec<Task>,
}

/// A task: the bodies to write. Its tests have its number in their names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    title: String,
    #[serde(rename = "body")]
    bodies: Vec<Body>,
}

/// The body of a function.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    /// Relative to the root of the workspace.
    file: PathBuf,
    /// The path of the function, as in Rust: see [`functions`].
    function: String,
    hint: String,
}

impl Exercise {
    fn load(root: &Path, name: &str) -> io::Result<Self> {
        let path = Path::new(LISTS).join(format!("{name}.toml"));
        let text = fs::read_to_string(root.join(&path)).map_err(|_| {
            let names = names(root).unwrap_or_default().join(", ");
            io::Error::other(format!("there is no exercise {name}; there are: {names}"))
        })?;
        let error = |error| io::Error::other(format!("{}: {error}", path.display()));
        toml::from_str(&text).map_err(error)
    }

    /// Returns all bodies, each with the number of its task, from 1.
    fn bodies(&self) -> impl Iterator<Item = (usize, &Body)> {
        (1..).zip(&self.tasks).flat_map(|(number, task)| iter::repeat(number).zip(&task.bodies))
    }

    /// Returns the source in a file of the workspace without the bodies of the tasks behind
    /// the first `solved` ones, and without anchors and unit tests.
    fn strip(&self, file: &Path, source: &str, solved: usize) -> io::Result<String> {
        let mut stripped = source.to_owned();
        for (number, body) in self.bodies() {
            if number <= solved || body.file != file {
                continue;
            }
            let found = functions::find(&stripped, &body.function)
                .map_err(|error| io::Error::other(format!("{} {error}", file.display())))?;
            let indent = " ".repeat(found.indent + 4);
            let hint = comment(&format!("Task {number}. {}", body.hint), &indent);
            let todo = match found.returns_impl {
                // An `impl Coroutine` has to be one.
                true => format!("async {{ todo!(\"task {number}\") }}"),
                false => format!("todo!(\"task {number}\")"),
            };
            let text = format!("{{\n{hint}{indent}{todo}\n{}}}", &indent[4..]);
            stripped.replace_range(found.body, &text);
        }
        let lines = stripped.lines().map(|line| (line, line.trim_start()));
        let lines = lines.take_while(|(_, text)| !text.starts_with("#[cfg(test)]"));
        let lines = lines.filter(|(_, text)| !text.starts_with("// ANCHOR"));
        Ok(lines.map(|(line, _)| line.to_owned() + "\n").collect())
    }

    /// Returns what the tests say when the first `solved` tasks are done.
    fn expectation(&self, solved: usize) -> String {
        let until = "until you have written the bodies that say `todo!`";
        match solved {
            0 => format!("Red is expected: all tests fail {until}."),
            _ if solved >= self.tasks.len() => "All tasks are done, and all tests pass.".into(),
            _ => format!(
                "Red is expected: the tests of tasks 1 to {solved} pass, the others fail\n{until}."
            ),
        }
    }

    /// Returns the text that stands at the beginning of the exercise.
    fn readme(&self, root: &Path, name: &str, solved: usize) -> io::Result<String> {
        let mut text = format!(
            "# {}\n\n{}\nAbove each is a hint.\n\n    cargo xtask check\n\n\
             says how far you are, and what is next. It gives up a test that hangs; plain\n\
             `cargo test` waits for it for ever.\n\n{}\n\nThe tasks, and what each needs:\n\n",
            self.title,
            self.expectation(solved),
            match self.sources.extension() {
                Some(_) => "`cargo run` runs the program of the page, on your runtime.",
                None => {
                    "`cargo doc -p selector-core --open` shows what a neighbour has to offer; \
                     `Cargo.toml`\nnames the others."
                }
            },
        );
        let page = fs::read_to_string(root.join(PAGE))?;
        for (number, task) in (1..).zip(&self.tasks) {
            let needs = needs(&page, name, number, &task.title).unwrap_or_default();
            let book = format!("]({}/book/src/", root.display());
            text += &format!("{number}. {}: {}\n", task.title, needs.replace("](", &book));
        }
        Ok(text
            + &format!(
                "\nStuck? `cargo xtask exercise {name} NEW-FOLDER --solved 1` writes it with the \
                 first task done.\nThe solution is in the workspace: `{}`.\n",
                self.sources.display()
            ))
    }

    /// Writes the exercise, with the first `solved` tasks done. Files that are as they
    /// should be are left alone.
    fn write(&self, root: &Path, name: &str, folder: &Path, solved: usize) -> io::Result<()> {
        let sources = root.join(&self.sources);
        let is_strange =
            |file: &Path| !file.starts_with(&self.sources) || !root.join(file).exists();
        if let Some((_, body)) = self.bodies().find(|(_, body)| is_strange(&body.file)) {
            let (file, sources) = (body.file.display(), self.sources.display());
            return Err(io::Error::other(format!("{sources} has no file {file}")));
        }
        fs::create_dir_all(folder.join("src"))?;
        let folder = folder.canonicalize()?;
        let tests = fs::read_to_string(root.join(&self.tests))?;
        let mut files = Vec::new();
        if sources.is_file() {
            let text = self.strip(&self.sources, &fs::read_to_string(&sources)?, solved)?;
            let stem = sources.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            // The reader's own program, and not the solution's.
            let text = text.replace("\nfn main()", "\npub fn main()");
            let text = text.replace(&format!(" -p stage2-coroutines --example {stem}"), "");
            files.push((PathBuf::from("src/lib.rs"), with_allowance(&text)));
            let program = format!("fn main() {{\n    {stem}::main();\n}}\n");
            files.push(("src/main.rs".into(), program));
            files.push((
                "tests/exercise.rs".into(),
                with_allowance(&tests.replace(&format!("crate::{stem}_example"), &stem)),
            ));
            files.push(("Cargo.toml".into(), manifest::of_example(&stem, &folder)));
        } else {
            for path in files_below(&sources.join("src"))? {
                let file = path.strip_prefix(&sources).map_err(io::Error::other)?;
                let text = fs::read_to_string(&path)?;
                let is_rust = path.extension().is_some_and(|extension| extension == "rs");
                let strip = || self.strip(&self.sources.join(file), &text, solved);
                let text = match file.to_str() {
                    Some("src/main.rs") => continue,
                    Some("src/lib.rs") => with_allowance(&strip()?),
                    _ if is_rust => strip()?,
                    _ => text,
                };
                files.push((file.to_path_buf(), text));
            }
            files.push(("tests/exercise.rs".into(), with_allowance(&tests)));
            files.push(("Cargo.toml".into(), manifest::of_crate(root, &sources, &folder)?));
        }
        files.push(("README.md".into(), self.readme(root, name, solved)?));
        files.push((NAME_FILE.into(), format!("{name}\n")));
        // As cargo does for the workspace: all builds share one folder.
        let target = process::target_folder()?;
        let manifest = root.join("Cargo.toml").display().to_string();
        let chores = ["run", "--quiet", "--manifest-path", &manifest, "--package", "xtask", "--"];
        // The alias of the workspace is a text, with which cargo merges no list. Only a
        // list may have blanks in its words.
        let xtask = match manifest.contains(char::is_whitespace) {
            true => format!("{chores:?}"),
            false => format!("{:?}", chores.join(" ")),
        };
        let config = format!("[alias]\nxtask = {xtask}\n\n[build]\ntarget-dir = {target:?}\n");
        files.push((".cargo/config.toml".into(), config));
        files.push(("Cargo.lock".into(), fs::read_to_string(root.join("Cargo.lock"))?));
        for (file, text) in files {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            if fs::read_to_string(&path).ok().as_deref() != Some(&text) {
                fs::write(path, text)?;
            }
        }
        Ok(())
    }
}

/// Returns what a task needs, according to the page: the second cell of its row.
fn needs<'p>(page: &'p str, name: &str, number: usize, title: &str) -> Option<&'p str> {
    let (_, rows) = page.split_once(&format!("`{name}`"))?;
    let (_, row) = rows.split_once(&format!("\n| {number}. {title} | "))?;
    row.lines().next()?.strip_suffix(" |")
}

/// Returns a text as a comment, in lines that are not too long.
fn comment(text: &str, indent: &str) -> String {
    let mut lines = vec![format!("{indent}//")];
    for word in text.split(' ') {
        match lines.last_mut().filter(|line| line.len() + 1 + word.len() <= MAX_WIDTH) {
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(format!("{indent}// {word}")),
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Returns a source that may have unfinished functions without a warning for each.
fn with_allowance(source: &str) -> String {
    let docs = source.lines().take_while(|line| line.starts_with("//!")).count();
    let (mut lines, rest): (Vec<_>, Vec<_>) =
        source.lines().enumerate().partition(|(number, _)| *number < docs);
    lines.push((docs, "#![allow(unused, unreachable_code, missing_docs)]"));
    lines.extend(rest);
    lines.into_iter().map(|(_, line)| format!("{line}\n")).collect()
}

/// Returns the names of all exercises.
fn names(root: &Path) -> io::Result<Vec<String>> {
    let lists = files_below(&root.join(LISTS))?;
    let names = lists.iter().filter_map(|path| path.file_stem());
    Ok(names.map(|name| name.to_string_lossy().into_owned()).collect())
}

/// Writes an exercise, or checks all of them.
///
/// # Errors
/// When there is no such exercise, or its folder is there already.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> io::Result<bool> {
    let Some(name) = &arguments.name else { return check_all(root, arguments.steps) };
    let exercise = Exercise::load(root, name)?;
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => root.join(FOLDER).join(name),
    };
    if folder.exists() && fs::read_dir(&folder)?.next().is_some() {
        let message = format!(
            "{} is there already, and is left as it is: delete it, or give another FOLDER",
            folder.display()
        );
        return Err(io::Error::other(message));
    }
    exercise.write(root, name, &folder, arguments.solved)?;
    println!("{} is in {}", exercise.title, folder.display());
    println!("{}", exercise.expectation(arguments.solved));
    println!("How far you are, says (its first build takes minutes)");
    println!("  cargo xtask check {}", folder.display());
    Ok(true)
}

/// The tests of an exercise, and those that pass.
struct Report {
    tests: Vec<String>,
    passed: BTreeSet<String>,
    /// The output of the first test that fails.
    first_failure: Option<(String, String)>,
}

/// Runs the tests of an exercise, each in a process of its own: one that hangs or
/// aborts does not hide the others. Has `say` print what is being done, and found.
/// Returns why they cannot be run if so.
fn test(folder: &Path, say: impl Fn(&str)) -> io::Result<Result<Report, String>> {
    say("building the tests; the first time, that takes minutes ...\n");
    let mut cargo = process::cargo(folder)?;
    cargo.args(["test", "--quiet", "--offline", "--test", "exercise", "--no-run"]);
    let build = cargo.arg("--message-format=json-render-diagnostics");
    let program = match program(process::run(build, BUILD_TIMEOUT)?) {
        Ok(program) => program,
        Err(errors) => return Ok(Err(format!("does not compile:\n{errors}"))),
    };
    // Not by cargo, which may have to wait for another one before it runs a test.
    let run = |arguments: &[&str]| {
        let mut program = Command::new(&program);
        program.args(arguments).current_dir(folder).env("RUST_BACKTRACE", "0");
        process::run(&mut program, TEST_TIMEOUT)
    };
    let tests = match listed(&run(&["--list"])?) {
        Ok(tests) => tests,
        Err(what) => return Ok(Err(what)),
    };
    let (mut passed, mut first_failure) = (BTreeSet::new(), None);
    for test in &tests {
        say(&format!("  {test} ... "));
        let ended = run(&["--exact", test])?;
        say(match (ended.code, ended.timed_out) {
            (Some(0), _) => "green\n",
            (_, true) => "red: it hangs, and is given up\n",
            _ => "red\n",
        });
        if ended.code == Some(0) {
            passed.insert(test.clone());
        } else if first_failure.is_none() {
            let hint = match ended.timed_out {
                true => format!("It hangs. What may be the cause, says {PAGE_ON_HANGS}.\n"),
                false => String::new(),
            };
            first_failure = Some((test.clone(), ended.output + &hint));
        }
    }
    Ok(Ok(Report { tests, passed, first_failure }))
}

/// Returns the program of the tests that cargo has built, or what the compiler has said.
fn program(build: Ended) -> Result<PathBuf, String> {
    let (messages, said): (Vec<_>, Vec<_>) =
        build.output.lines().partition(|line| line.starts_with('{'));
    let program = messages.into_iter().find_map(|message| {
        let message: Value = serde_json::from_str(message).ok()?;
        let program = message["executable"].as_str().map(PathBuf::from);
        program.filter(|_| message["target"]["name"] == "exercise")
    });
    program.filter(|_| build.code == Some(0)).ok_or_else(|| said.join("\n"))
}

/// Returns the names of the tests from the list of their program.
fn listed(list: &Ended) -> Result<Vec<String>, String> {
    let names = list.output.lines().filter_map(|line| line.strip_suffix(": test"));
    let mut tests: Vec<String> = names.map(str::to_owned).collect();
    tests.sort();
    match list.code {
        Some(0) if !tests.is_empty() => Ok(tests),
        _ => Err(format!("lists no tests:\n{}", list.output)),
    }
}

/// Says how far the reader is: in one folder, in the current one if that is an
/// exercise, or in all of `exercises`, and of `target/exercises`, where they once were.
/// Returns false if a test fails.
///
/// # Errors
/// When there is no exercise.
pub(crate) fn check(root: &Path, folder: Option<&Path>) -> io::Result<bool> {
    let folders = match folder {
        Some(folder) => vec![folder.to_path_buf()],
        None if Path::new(NAME_FILE).exists() => vec![PathBuf::from(".")],
        None => {
            let all = [root.to_path_buf(), process::target_folder()?].map(|it| it.join(FOLDER));
            let entries = all.into_iter().flat_map(fs::read_dir).flatten();
            let mut folders: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
            folders.sort();
            folders
        }
    };
    if folders.is_empty() {
        return Err(io::Error::other("there is no exercise yet: see cargo xtask exercise --help"));
    }
    let mut good = true;
    for folder in folders {
        good &= check_folder(root, &folder)?;
    }
    Ok(good)
}

fn check_folder(root: &Path, folder: &Path) -> io::Result<bool> {
    let name = fs::read_to_string(folder.join(NAME_FILE))
        .map_err(|_| io::Error::other(format!("{} is no exercise", folder.display())))?;
    let exercise = Exercise::load(root, name.trim())?;
    println!("{} ({})", exercise.title, folder.display());
    // What waits is seen: a test that hangs takes a while.
    let say = |text: &str| {
        print!("{text}");
        let _ = io::stdout().flush();
    };
    let report = match test(folder, say)? {
        Ok(report) => report,
        Err(what) => {
            println!("It {what}");
            return Ok(false);
        }
    };
    println!("{} of {} green", report.passed.len(), report.tests.len());
    let Some((test, output)) = report.first_failure else {
        println!("The solution is in {}. Compare.", root.join(&exercise.sources).display());
        if let Some(next) = names(root)?.iter().skip_while(|it| *it != name.trim()).nth(1) {
            println!("The next exercise: cargo xtask exercise {next}");
        }
        return Ok(true);
    };
    println!("Next: {test}");
    let task = number(&test).and_then(|number| exercise.tasks.get(number.checked_sub(1)?));
    let hints = todos(folder, number(&test).unwrap_or(0))?;
    if let Some(task) = task {
        println!("  {}.", task.title);
    }
    for hint in &hints {
        println!("  {hint}");
    }
    if hints.is_empty() {
        println!("All of its bodies are written. The test says:\n{output}");
    }
    Ok(false)
}

/// Returns the number of the task that a test belongs to: `task_2_...`.
fn number(test: &str) -> Option<usize> {
    test.strip_prefix("task_")?.split('_').next()?.parse().ok()
}

/// Returns the places of a task that are not written yet, each with its hint: the
/// comment above it.
fn todos(folder: &Path, number: usize) -> io::Result<Vec<String>> {
    let mut todos = Vec::new();
    let (begin, todo) = (format!("// Task {number}. "), format!("todo!(\"task {number}\")"));
    for path in files_below(&folder.join("src"))? {
        let text = fs::read_to_string(&path)?;
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for end in (0..lines.len()).filter(|line| lines[*line].contains(&todo)) {
            let start = lines[..end].iter().rposition(|line| line.starts_with(&begin));
            let hint = lines[start.unwrap_or(end)..end].join("\n    ");
            let file = path.strip_prefix(folder).unwrap_or(&path).display();
            todos.push(format!("{file}:{}\n    {hint}", end + 1));
        }
    }
    Ok(todos)
}

/// Checks each exercise: as it is written it compiles, and all of its tests fail; with
/// the solution all of them pass. With `steps`, checks what is between as well.
fn check_all(root: &Path, steps: bool) -> io::Result<bool> {
    let all = process::target_folder()?.join("exercises-checked");
    let mut good = true;
    for name in names(root)? {
        let exercise = Exercise::load(root, &name)?;
        let count = exercise.tasks.len();
        for solved in (0..=count).filter(|solved| steps || [0, count].contains(solved)) {
            let folder = all.join(format!("{name}-{solved}"));
            exercise.write(root, &name, &folder, solved)?;
            let finding = match test(&folder, |_| ())? {
                Err(what) => Some(what),
                Ok(report) => exercise.finding(&report, solved),
            };
            let finding = finding.as_deref();
            println!(
                "{name}, {solved} of {count} tasks done: {}",
                finding.unwrap_or("as it should be")
            );
            good &= finding.is_none();
        }
    }
    Ok(good)
}

impl Exercise {
    /// Returns what is wrong with the tests when the first `solved` tasks are done.
    fn finding(&self, report: &Report, solved: usize) -> Option<String> {
        for number_of_task in 1..=self.tasks.len() {
            if !report.tests.iter().any(|test| number(test) == Some(number_of_task)) {
                return Some(format!("task {number_of_task} has no test"));
            }
        }
        for test in &report.tests {
            let is_done = number(test).is_some_and(|number| number <= solved);
            if is_done != report.passed.contains(test) {
                let output = report.first_failure.as_ref().map_or("", |(_, output)| output);
                let passes = if is_done { "fails" } else { "passes" };
                return Some(format!("{test} {passes}\n{output}"));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    fn exercise() -> Exercise {
        let body = |function: &str| Body {
            file: "a".into(),
            function: function.into(),
            hint: "think".into(),
        };
        let task = |function| Task { title: "A task".into(), bodies: vec![body(function)] };
        Exercise {
            title: "An exercise".into(),
            sources: "a".into(),
            tests: "b".into(),
            tasks: vec![task("one"), task("A::two")],
        }
    }

    const SOURCE: &str = "\
//! Docs.
// ANCHOR: all
fn one() {
    first();
    second();
}
// ANCHOR_END: all
impl A {
    fn two() -> impl Coroutine<Output = ()> {
        third()
    }
}

#[cfg(test)]
mod tests {}
";

    #[test]
    fn bodies_are_removed_from_the_first_task_that_is_not_done() {
        let strip = |solved| exercise().strip(Path::new("a"), SOURCE, solved).unwrap();
        let expected = "//! Docs.\nfn one() {\n    // Task 1. think\n    todo!(\"task 1\")\n}\n\
            impl A {\n    fn two() -> impl Coroutine<Output = ()> {\n        // Task 2. think\n        \
            async { todo!(\"task 2\") }\n    }\n}\n\n";
        assert_eq!(strip(0), expected);
        let one = strip(1);
        assert!(
            one.contains("    first();\n    second();\n}\n") && one.contains("task 2"),
            "{one}"
        );
        assert!(!strip(2).contains("todo"));
        let other = exercise().strip(Path::new("b"), SOURCE, 0).unwrap();
        assert_eq!(other, strip(2));
        let error = exercise().strip(Path::new("a"), "fn one() {}\n", 0).unwrap_err();
        assert_eq!(error.to_string(), "a has no function A::two");
    }

    #[test]
    fn the_book_lists_every_task() {
        let page = fs::read_to_string(root().join("book/src/exercises.md")).unwrap();
        for name in names(&root()).unwrap() {
            assert!(page.contains(&format!("`{name}`")), "{name}");
            let exercise = Exercise::load(&root(), &name).unwrap();
            for (index, task) in exercise.tasks.iter().enumerate() {
                let row = format!("| {}. {} |", index + 1, task.title);
                assert!(page.contains(&row), "{name}: {row}");
                let needs = needs(&page, &name, index + 1, &task.title).unwrap();
                assert!(needs.starts_with('[') && needs.ends_with(')'), "{name}: {needs}");
            }
        }
    }

    #[test]
    fn a_readme_says_what_is_needed_and_what_fails() {
        let readme = |name, solved| {
            let exercise = Exercise::load(&root(), name).unwrap();
            exercise.readme(&root(), name, solved).unwrap()
        };
        let (smallest, stage2) = (readme("smallest", 0), readme("stage2", 2));
        assert!(smallest.contains("book/src/smallest-runtime.md#") && !smallest.contains("doc -p"));
        assert!(smallest.contains("all tests fail until") && smallest.contains("`cargo run`"));
        assert!(stage2.contains("book/src/futures-and-tasks.md#what-is-to-be-woken)"), "{stage2}");
        assert!(stage2.contains("tests of tasks 1 to 2 pass") && stage2.contains("doc -p"));
    }

    #[test]
    fn every_exercise_can_be_made_and_has_a_test_for_each_task() {
        let folder = tempfile::tempdir().unwrap();
        let names = names(&root()).unwrap();
        assert_eq!(names, ["smallest", "stage1", "stage2", "stage3"]);
        for name in names {
            let exercise = Exercise::load(&root(), &name).unwrap();
            let folder = folder.path().join(&name);
            exercise.write(&root(), &name, &folder, 0).unwrap();
            let tests = fs::read_to_string(folder.join("tests/exercise.rs")).unwrap();
            for number in 1..=exercise.tasks.len() {
                assert!(tests.contains(&format!("fn task_{number}_")), "{name} {number}");
                assert!(!todos(&folder, number).unwrap().is_empty(), "{name} {number}");
            }
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            let manifest: toml::Table = manifest.parse().unwrap();
            assert!(manifest.contains_key("workspace"), "it is outside of any other");
        }
    }

    #[test]
    fn an_exercise_is_not_in_the_target_folder() {
        let workspace = tempfile::tempdir().unwrap();
        for part in ["book", "crates", "Cargo.lock", "Cargo.toml"] {
            let original = root().join(part).canonicalize().unwrap();
            std::os::unix::fs::symlink(original, workspace.path().join(part)).unwrap();
        }
        let name = Some("smallest".to_owned());
        let arguments = Arguments { check: false, steps: false, solved: 0, name, folder: None };
        assert!(run(workspace.path(), &arguments).unwrap());
        assert!(workspace.path().join("exercises/smallest/Cargo.toml").is_file());
        let ignored = fs::read_to_string(root().join(".gitignore")).unwrap();
        assert!(ignored.lines().any(|line| line == format!("/{FOLDER}/")), "{ignored}");
    }

    #[test]
    fn an_exercise_without_tests_is_not_done() {
        let list = |output: &str, code| {
            listed(&Ended { output: output.into(), code, timed_out: code.is_none() })
        };
        assert_eq!(list("b: test\na: test\n\n2 tests\n", Some(0)).unwrap(), ["a", "b"]);
        assert!(list("0 tests, 0 benchmarks\n", Some(0)).is_err());
        assert!(list("a: test\n", Some(101)).is_err() && list("a: test\n", None).is_err());
    }

    #[test]
    fn the_program_of_the_tests_is_told_by_cargo() {
        let build = |code| {
            let output = r#"{"executable":null,"target":{"name":"other"}}
error: no such thing
{"executable":"/t/exercise-1","target":{"name":"exercise"}}"#;
            program(Ended { output: output.into(), code, timed_out: false })
        };
        assert_eq!(build(Some(0)).unwrap(), Path::new("/t/exercise-1"));
        assert_eq!(build(Some(101)).unwrap_err(), "error: no such thing");
    }

    #[test]
    fn a_report_is_compared_with_the_tasks_that_are_done() {
        let tests = ["task_1_a", "task_2_b"].map(str::to_owned).to_vec();
        let report = |passed: &[&str]| Report {
            tests: tests.clone(),
            passed: passed.iter().map(|test| (*test).to_owned()).collect(),
            first_failure: None,
        };
        assert_eq!(exercise().finding(&report(&[]), 0), None);
        assert_eq!(exercise().finding(&report(&["task_1_a"]), 1), None);
        assert_eq!(exercise().finding(&report(&["task_2_b"]), 0).unwrap(), "task_2_b passes\n");
        assert_eq!(exercise().finding(&report(&["task_1_a"]), 2).unwrap(), "task_2_b fails\n");
        let none = Report { tests: Vec::new(), ..report(&[]) };
        assert_eq!(exercise().finding(&none, 0).unwrap(), "task 1 has no test");
        assert_eq!((number("task_12_x"), number("other")), (Some(12), None));
    }
}
