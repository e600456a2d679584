//! The outputs of programs that the book and two READMEs show.
//!
//! A README cannot include a file. A comment names it, and the code block behind
//! the comment, after a command if there is one, is a copy:
//!
//! ```text
//! <!-- Output: replay.txt -->
//! ```

use std::fs;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::process::Stdio;

use regex::Regex;
use serde::Deserialize;

use crate::process::{COMMAND_TIMEOUT, shell, wait};

/// The list of the programs, relative to the root of the workspace.
pub(crate) const LIST: &str = "book/outputs.toml";
/// The folder of the outputs.
pub(crate) const FOLDER: &str = "book/src/out";

/// The pages that show copies of outputs.
pub(crate) const READMES: [&str; 2] = ["README.md", "crates/crawl/README.md"];

/// The contents of [`LIST`].
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    #[serde(default, rename = "output")]
    pub(crate) outputs: Vec<Output>,
}

/// The output of one program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Output {
    /// The name of its file in [`FOLDER`].
    pub(crate) file: String,
    /// The command, which bash runs at the root of the workspace. All its parts must
    /// succeed; its stdout is kept.
    command: String,
    /// Patterns of the parts that may differ from run to run.
    #[serde(default)]
    mask: Vec<String>,
    /// True if it is written only when another output is, and then always.
    #[serde(default)]
    with_others: bool,
}

impl List {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let list: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        for output in &list.outputs {
            output.masks().map_err(|error| format!("{}: {error}", output.file))?;
        }
        Ok(list)
    }

    fn load(root: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(root.join(LIST))?;
        Self::parse(&text).map_err(|error| io::Error::other(format!("{LIST}: {error}")))
    }
}

impl Output {
    fn masks(&self) -> Result<Vec<Regex>, regex::Error> {
        self.mask.iter().map(|pattern| Regex::new(pattern)).collect()
    }

    fn run(&self, root: &Path) -> io::Result<String> {
        // What waits is seen: some programs are built first.
        println!("{}", self.file);
        let mut output = tempfile::tempfile()?;
        let mut command = shell(&self.command, root);
        command.env("RUST_BACKTRACE", "0").env("NO_COLOR", "1");
        command.stdout(output.try_clone()?).stderr(Stdio::inherit());
        let failed = |what: String| io::Error::other(format!("`{}` {what}", self.command));
        match wait(&mut command, COMMAND_TIMEOUT)? {
            Some(status) if status.success() => {}
            Some(status) => return Err(failed(format!("ended with {status}"))),
            None => return Err(failed(format!("was not done after {COMMAND_TIMEOUT:?}"))),
        }
        let mut bytes = Vec::new();
        output.rewind()?;
        output.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        match lines.join("\n").trim_end() {
            "" => Err(failed("has said nothing".to_owned())),
            text => Ok(text.to_owned() + "\n"),
        }
    }

    /// Runs the program and writes its output. If it differs only in masked parts, the file
    /// is left as it is, unless it is `always` written. Returns true if it was written.
    fn write(&self, root: &Path, always: bool) -> io::Result<bool> {
        let file = root.join(FOLDER).join(&self.file);
        let (new, old) = (self.run(root)?, fs::read_to_string(&file).unwrap_or_default());
        let is_written = always || self.masked(&new)? != self.masked(&old)?;
        if is_written {
            fs::write(&file, &new)?;
        }
        println!("  {}", if is_written { "written" } else { "as before" });
        Ok(is_written)
    }

    /// Returns the text with all matches of the masks replaced.
    fn masked(&self, text: &str) -> io::Result<String> {
        let mut masked = text.to_owned();
        for mask in self.masks().map_err(io::Error::other)? {
            masked = mask.replace_all(&masked, "…").into_owned();
        }
        Ok(masked)
    }
}

/// Runs the programs and writes their outputs. A file whose output differs only in
/// masked parts is left as it is, unless it is named in `only`.
///
/// # Errors
/// When a name fits no file, a program fails, or a file cannot be read or written.
pub(crate) fn write(root: &Path, only: &[String]) -> io::Result<bool> {
    let list = List::load(root)?;
    let (last, first): (Vec<&Output>, Vec<_>) =
        chosen(&list, only)?.into_iter().partition(|output| output.with_others);
    fs::create_dir_all(root.join(FOLDER))?;
    let mut is_any_written = !only.is_empty() && !last.is_empty();
    for output in first {
        // A file that was named is written even if only its figures differ.
        is_any_written |= output.write(root, !only.is_empty())?;
    }
    for output in list.outputs.iter().filter(|output| output.with_others && is_any_written) {
        output.write(root, true)?;
    }
    for name in READMES {
        let Ok(readme) = fs::read_to_string(root.join(name)) else { continue };
        let read = |file: &str| fs::read_to_string(root.join(FOLDER).join(file)).ok();
        let renewed = with_outputs(&readme, read);
        let failed = |what| io::Error::other(format!("{name}: {what}"));
        fs::write(root.join(name), renewed.map_err(failed)?)?;
    }
    Ok(true)
}

/// Returns the file that a line of a README announces.
pub(crate) fn announced(line: &str) -> Option<&str> {
    line.strip_prefix("<!-- Output: ")?.strip_suffix(" -->")
}

/// Returns a page with new copies of the outputs that it shows.
///
/// # Errors
/// When it announces one, and no code block follows.
pub(crate) fn with_outputs(
    page: &str,
    read: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut renewed = String::new();
    let lines: Vec<&str> = page.split_inclusive('\n').collect();
    let mut rest = &lines[..];
    while let [line, behind @ ..] = rest {
        renewed += line;
        rest = behind;
        let Some(file) = announced(line.trim_end()) else { continue };
        let Some(output) = read(file) else { continue };
        let is_fence = |line: &&&str| line.starts_with("```");
        let begin = rest.iter().take_while(|line| line.trim().is_empty()).count();
        let inside = rest.get(begin).filter(is_fence).map_or(&[][..], |_| &rest[begin + 1..]);
        let Some(end) = inside.iter().position(|line| is_fence(&line)) else {
            return Err(format!("no code block shows {file}"));
        };
        let command = inside[0].starts_with("$ ");
        renewed += &rest[..begin + 1 + usize::from(command)].concat();
        renewed += &output;
        rest = &inside[end..];
    }
    Ok(renewed)
}

/// Runs the programs and compares. Returns true if all outputs are those of the
/// book.
///
/// # Errors
/// When a name fits no file, a program fails, or a file cannot be read.
pub(crate) fn check(root: &Path, only: &[String]) -> io::Result<bool> {
    let mut good = true;
    for output in chosen(&List::load(root)?, only)? {
        let file = root.join(FOLDER).join(&output.file);
        let old = output.masked(&fs::read_to_string(&file).unwrap_or_default())?;
        match difference(&old, &output.masked(&output.run(root)?)?) {
            None => println!("  as before"),
            Some(difference) => {
                good = false;
                println!("  outdated: {difference}");
            }
        }
    }
    Ok(good)
}

/// Returns the outputs with these names, all if there are none.
fn chosen<'a>(list: &'a List, only: &[String]) -> io::Result<Vec<&'a Output>> {
    if let Some(name) =
        only.iter().find(|name| !list.outputs.iter().any(|output| is_named(&output.file, name)))
    {
        return Err(io::Error::other(format!("{LIST} has no output {name}")));
    }
    let is_chosen =
        |output: &&Output| only.is_empty() || only.iter().any(|name| is_named(&output.file, name));
    Ok(list.outputs.iter().filter(is_chosen).collect())
}

/// Returns true if a file has this name: `*` at its end stands for any letters, and `!`
/// at its beginning for all other files.
fn is_named(file: &str, name: &str) -> bool {
    match (name.strip_prefix('!'), name.strip_suffix('*')) {
        (Some(others), _) => !is_named(file, others),
        (None, Some(beginning)) => file.starts_with(beginning),
        (None, None) => file == name,
    }
}

/// Describes the first line in which two texts differ.
fn difference(old: &str, new: &str) -> Option<String> {
    if old == new {
        return None;
    }
    let (mut old_lines, mut new_lines) = (old.lines(), new.lines());
    let mut number = 1;
    loop {
        let (old, new) = (old_lines.next(), new_lines.next());
        if old != new || old.is_none() {
            let shown =
                |line: Option<&str>| line.map_or("nothing".into(), |line| format!("{line:?}"));
            return Some(format!("line {number} was {}, and is {}", shown(old), shown(new)));
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(list: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("book")).unwrap();
        fs::write(root.path().join(LIST), list).unwrap();
        root
    }

    #[test]
    fn outputs_are_written_and_checked() {
        let list = "[[output]]\nfile = \"o.txt\"\ncommand = \"cat said\"\nmask = ['\\d+']\n";
        let root = root(list);
        let said = root.path().join("said");
        fs::write(&said, "took 5 ms  \n\n").unwrap();
        assert!(!check(root.path(), &[]).unwrap(), "nothing is kept yet");
        assert!(write(root.path(), &[]).unwrap());
        let kept = || fs::read_to_string(root.path().join(FOLDER).join("o.txt")).unwrap();
        assert_eq!(kept(), "took 5 ms\n");

        fs::write(&said, "took 7 ms\n").unwrap();
        assert!(check(root.path(), &[]).unwrap(), "but for the time it is the same");
        write(root.path(), &[]).unwrap();
        assert_eq!(kept(), "took 5 ms\n", "what is the same stays");
        write(root.path(), &["o.txt".into()]).unwrap();
        assert_eq!(kept(), "took 7 ms\n", "unless it is asked for");

        fs::write(&said, "took 7 s\n").unwrap();
        assert!(!check(root.path(), &[]).unwrap());
    }

    #[test]
    fn a_name_may_stand_for_several_files() {
        let of = |name: &str| ["lab_a.txt", "lab_b.txt", "c.txt"].map(|file| is_named(file, name));
        assert_eq!(of("lab_a.txt"), [true, false, false]);
        assert_eq!(of("lab_*"), [true, true, false]);
        assert_eq!(of("!lab_*"), [false, false, true]);
    }

    #[test]
    fn the_readme_has_copies_of_the_outputs() {
        let page = |one: &str, two: &str| {
            format!(
                "# A\n\n<!-- Output: a.txt -->\n```console\n$ run\n{one}```\n\nText.\n\n\
                 <!-- Output: b.txt -->\n```text\n{two}```\n\n```text\nother\n```\n"
            )
        };
        let read = |file: &str| Some(format!("said by {file}\n"));
        let renewed = with_outputs(&page("old\n\nlines\n", "old\n"), read).unwrap();
        assert_eq!(renewed, page("said by a.txt\n", "said by b.txt\n"));
        assert_eq!(with_outputs(&renewed, read).unwrap(), renewed);
        assert_eq!(with_outputs(&page("", ""), read).unwrap(), renewed);
        assert_eq!(with_outputs(&renewed, |_| None).unwrap(), renewed, "no such file");
    }

    #[test]
    fn a_comment_without_a_block_changes_nothing() {
        let root = root("[[output]]\nfile = \"o.txt\"\ncommand = \"echo said\"\n");
        for behind in ["", "Text.\n\n```text\nother\n```\n", "\n```text\nopen\n"] {
            let page = format!("# A\n\n<!-- Output: o.txt -->\n{behind}");
            fs::write(root.path().join(READMES[0]), &page).unwrap();
            let error = write(root.path(), &[]).unwrap_err();
            assert_eq!(error.to_string(), "README.md: no code block shows o.txt");
            assert_eq!(fs::read_to_string(root.path().join(READMES[0])).unwrap(), page);
        }
    }

    #[test]
    fn an_output_that_is_not_listed_is_an_error() {
        let root = root("[[output]]\nfile = \"o.txt\"\ncommand = \"echo said\"\n");
        for name in ["p.txt", "lab_*", "!o*"] {
            let only = ["o.txt", name].map(str::to_owned);
            let error = write(root.path(), &only).unwrap_err().to_string();
            assert_eq!(error, format!("book/outputs.toml has no output {name}"));
            assert!(check(root.path(), &only).is_err());
        }
        assert!(!root.path().join(FOLDER).exists());
    }

    #[test]
    fn the_commit_is_written_with_any_other_output() {
        let list = "[[output]]\nfile = \"o.txt\"\ncommand = \"cat said\"\n\
                    [[output]]\nfile = \"commit.txt\"\ncommand = \"cat head\"\nmask = ['.+']\n\
                    with_others = true\n";
        let root = root(list);
        let written = |said: &str, head: &str, only: &[String]| {
            fs::write(root.path().join("said"), said).unwrap();
            fs::write(root.path().join("head"), head).unwrap();
            write(root.path(), only).unwrap();
            fs::read_to_string(root.path().join(FOLDER).join("commit.txt")).unwrap()
        };
        assert_eq!(written("this\n", "1", &[]), "1\n");
        assert_eq!(written("this\n", "2", &[]), "1\n", "nothing else has changed");
        assert!(check(root.path(), &[]).unwrap());
        assert_eq!(written("that\n", "3", &[]), "3\n");
        assert_eq!(written("that\n", "4", &["o.txt".into()]), "4\n");
        assert_eq!(written("that\n", "5", &["commit.txt".into()]), "5\n");
    }

    #[test]
    fn an_empty_output_is_an_error() {
        let root = root("[[output]]\nfile = \"o.txt\"\ncommand = \"echo\"\n");
        let error = write(root.path(), &[]).unwrap_err().to_string();
        assert_eq!(error, "`echo` has said nothing");
        assert!(!root.path().join(FOLDER).join("o.txt").exists());
    }

    #[test]
    fn a_program_that_fails_in_a_pipe_has_no_output() {
        for command in ["(echo said; false) | cat", "false; echo said"] {
            let root = root(&format!("[[output]]\nfile = \"o.txt\"\ncommand = \"{command}\"\n"));
            assert!(write(root.path(), &[]).is_err(), "{command}");
            assert!(!root.path().join(FOLDER).join("o.txt").exists());
        }
    }

    #[test]
    fn a_program_that_fails_has_no_output() {
        let root = root("[[output]]\nfile = \"o.txt\"\ncommand = \"echo said; false\"\n");
        assert!(write(root.path(), &[]).is_err());
        assert!(!root.path().join(FOLDER).join("o.txt").exists());
    }

    #[test]
    fn a_list_with_unknown_missing_or_bad_fields_is_refused() {
        assert!(List::parse("[[output]]\nfile = \"a\"\ncommand = \"b\"\nmasks = []\n").is_err());
        assert!(List::parse("[[output]]\nfile = \"a\"\n").is_err());
        assert!(List::parse("[[output]]\nfile = \"a\"\ncommand = \"b\"\nmask = ['(']\n").is_err());
        assert!(List::parse("").is_ok());
    }

    #[test]
    fn the_first_difference_is_described() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        let difference = difference("a\nb\n", "a\n").unwrap();
        assert_eq!(difference, "line 2 was \"b\", and is nothing");
    }
}
