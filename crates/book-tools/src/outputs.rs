//! The outputs of programs that the book and the README show.
//!
//! The README cannot include a file. A comment names it, and the code block behind
//! the comment, after a command if there is one, is a copy:
//!
//! ```text
//! <!-- Output: replay.txt -->
//! ```

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use regex::Regex;
use serde::Deserialize;

/// The list of the programs, relative to the root of the workspace.
pub(crate) const LIST: &str = "book/outputs.toml";
/// The folder of the outputs.
pub(crate) const FOLDER: &str = "book/src/out";

/// The page that shows copies of outputs.
pub(crate) const README: &str = "README.md";

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
    /// The command, which a shell runs at the root of the workspace. It must
    /// succeed; its stdout is kept.
    command: String,
    /// Patterns of the parts that may differ from run to run.
    #[serde(default)]
    mask: Vec<String>,
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
        let mut command = Command::new("sh");
        command.args(["-c", &self.command]).current_dir(root);
        command.env("RUST_BACKTRACE", "0").env("NO_COLOR", "1").stdin(Stdio::null());
        let output = command.stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            let Self { command, .. } = self;
            return Err(io::Error::other(format!("`{command}` ended with {}", output.status)));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        Ok(lines.join("\n").trim_end().to_owned() + "\n")
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
/// When a program fails, or a file cannot be read or written.
pub fn write(root: &Path, only: &[String]) -> io::Result<bool> {
    fs::create_dir_all(root.join(FOLDER))?;
    for output in chosen(&List::load(root)?, only) {
        let file = root.join(FOLDER).join(&output.file);
        let (new, old) = (output.run(root)?, fs::read_to_string(&file).unwrap_or_default());
        // A file that was named is written even if only its figures differ.
        let is_same = only.is_empty() && output.masked(&new)? == output.masked(&old)?;
        if !is_same {
            fs::write(&file, &new)?;
        }
        println!("{} {}", if is_same { "as before" } else { "written  " }, output.file);
    }
    if let Ok(readme) = fs::read_to_string(root.join(README)) {
        let read = |file: &str| fs::read_to_string(root.join(FOLDER).join(file)).ok();
        fs::write(root.join(README), with_outputs(&readme, read))?;
    }
    Ok(true)
}

/// Returns the file that a line of the README announces.
pub(crate) fn announced(line: &str) -> Option<&str> {
    line.strip_prefix("<!-- Output: ")?.strip_suffix(" -->")
}

/// Returns a page with new copies of the outputs that it shows.
pub(crate) fn with_outputs(page: &str, read: impl Fn(&str) -> Option<String>) -> String {
    let mut renewed = String::new();
    let mut lines = page.split_inclusive('\n');
    while let Some(line) = lines.next() {
        renewed += line;
        let Some(output) = announced(line.trim_end()).and_then(&read) else { continue };
        let mut block = lines.by_ref().skip_while(|line| line.trim().is_empty());
        renewed += block.next().unwrap_or_default();
        let mut is_first = true;
        for line in block {
            if line.starts_with("```") {
                renewed += &output;
                renewed += line;
                break;
            }
            if is_first && line.starts_with("$ ") {
                renewed += line;
            }
            is_first = false;
        }
    }
    renewed
}

/// Runs the programs and compares. Returns true if all outputs are those of the
/// book.
///
/// # Errors
/// When a program fails, or a file cannot be read.
pub fn check(root: &Path, only: &[String]) -> io::Result<bool> {
    let mut good = true;
    for output in chosen(&List::load(root)?, only) {
        let file = root.join(FOLDER).join(&output.file);
        let old = output.masked(&fs::read_to_string(&file).unwrap_or_default())?;
        match difference(&old, &output.masked(&output.run(root)?)?) {
            None => println!("as before {}", output.file),
            Some(difference) => {
                good = false;
                println!("outdated  {}: {difference}", output.file);
            }
        }
    }
    Ok(good)
}

fn chosen<'a>(list: &'a List, only: &[String]) -> Vec<&'a Output> {
    let is_chosen =
        |output: &&Output| only.is_empty() || only.iter().any(|name| is_named(&output.file, name));
    list.outputs.iter().filter(is_chosen).collect()
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
        let renewed = with_outputs(&page("old\n\nlines\n", "old\n"), read);
        assert_eq!(renewed, page("said by a.txt\n", "said by b.txt\n"));
        assert_eq!(with_outputs(&renewed, read), renewed);
        assert_eq!(with_outputs(&renewed, |_| None), renewed, "no such file");
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
