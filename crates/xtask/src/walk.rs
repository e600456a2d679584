//! The walk through the book: runs every command that a reader is told to type.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::book::Book;
use crate::markdown::Page;
use crate::process::{self, COMMAND_TIMEOUT, shell};

/// A command that the reader is told to type.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    /// The location of the command: its page and line.
    location: String,
    command: String,
}

/// Does as [`walk`] does, in a clean clone of the last commit: the folder `walk` in `target`.
///
/// # Errors
/// Also when the clone cannot be made.
pub(crate) fn walk_in_clone(root: &Path, target: &Path) -> io::Result<bool> {
    let clone = target.join("walk");
    make_clone(root, &clone)?;
    let manifest = clone.join("Cargo.toml");
    fs::write(&manifest, with_other_version(&fs::read_to_string(&manifest)?, "walk"))?;
    walk(&clone)
}

/// Runs every command of the book, in the order of the pages, in a checkout. Returns true if
/// each has succeeded.
///
/// # Errors
/// When the book cannot be read, or there is no command.
pub(crate) fn walk(root: &Path) -> io::Result<bool> {
    let book = Book::load(root)?;
    let begun = Instant::now();
    let mut count = 0;
    for step in book.in_order().into_iter().flat_map(steps) {
        println!("{}: {}", step.location, step.command);
        let started = Instant::now();
        if let Err(error) = run_command(&step.command, root, COMMAND_TIMEOUT) {
            println!("{}: {error}", step.location);
            return Ok(false);
        }
        println!("  done in {:.1} s", started.elapsed().as_secs_f64());
        count += 1;
    }
    if count == 0 {
        return Err(io::Error::other("the book tells its reader to type nothing"));
    }
    println!("{count} commands in {:.0} s", begun.elapsed().as_secs_f64());
    Ok(true)
}

/// Makes a folder a clean clone of the last commit. A clone that is there is brought up to
/// date, so that cargo does not compile anew what has not changed.
fn make_clone(root: &Path, clone: &Path) -> io::Result<()> {
    let update = |arguments: &[&OsStr]| {
        // Both folders are named: git is not to take a repository around the clone for it.
        let mut git = Command::new("git");
        git.arg("--git-dir").arg(clone.join(".git")).arg("--work-tree").arg(clone);
        git.args(arguments).current_dir(clone).status().map(|status| status.success())
    };
    if clone.join(".git").is_dir()
        && update(&["fetch".as_ref(), "--quiet".as_ref(), root.as_ref(), "HEAD".as_ref()])?
        && update(&["reset", "--quiet", "--hard", "FETCH_HEAD"].map(OsStr::new))?
        // What the book has its reader build in the clone stays built.
        && update(&["clean", "-ffdxq", "--exclude=/target"].map(OsStr::new))?
    {
        return Ok(());
    }
    if clone.is_dir() {
        fs::remove_dir_all(clone)?;
    }
    let mut git = Command::new("git");
    if !git.args(["clone", "--quiet", "--local"]).args([root, clone]).status()?.success() {
        return Err(io::Error::other("cannot clone the workspace"));
    }
    Ok(())
}

/// Returns a manifest of the workspace with another version of its packages: cargo then takes
/// nothing of a copy for a part of the workspace, though both are built in the same folder and
/// share what they depend on.
pub(crate) fn with_other_version(manifest: &str, suffix: &str) -> String {
    let version = "\n[workspace.package]\nversion = \"";
    match manifest
        .split_once(version)
        .and_then(|(before, rest)| Some((before, rest.split_once('"')?)))
    {
        Some((before, (number, rest))) => format!("{before}{version}{number}+{suffix}\"{rest}"),
        None => manifest.to_owned(),
    }
}

/// Returns the commands of a page: the text behind `$` in its console blocks, with
/// the lines that continue it after a backslash.
fn steps(page: &Page) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for fence in page.fences().iter().filter(|fence| fence.language() == "console") {
        for (index, line) in fence.lines.iter().enumerate() {
            if let Some(command) = line.strip_prefix("$ ") {
                let location = format!("{}:{}", page.path.display(), fence.line + 1 + index);
                steps.push(Step { location, command: command.to_owned() });
            } else if let Some(step) = steps.last_mut() {
                step.command = format!("{}\n{line}", step.command);
            }
        }
    }
    steps
}

/// Runs a command in a shell, with a timeout, and shows its output only if it
/// fails.
fn run_command(command: &str, folder: &Path, timeout: Duration) -> io::Result<()> {
    let ended = process::run(&mut shell(command, folder), timeout)?;
    let outcome = match ended.code {
        Some(0) => return Ok(()),
        _ if ended.timed_out => format!("it was not done after {timeout:?}"),
        Some(code) => format!("it ended with exit code {code}"),
        None => "it was ended by a signal".to_owned(),
    };
    eprint!("{}", ended.output);
    Err(io::Error::other(outcome))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_clone_is_brought_up_to_date() {
        let folder = tempfile::tempdir().unwrap();
        let (root, clone) = (folder.path().join("root"), folder.path().join("clone"));
        let commit = "git -c user.name=a -c user.email=a@b.test commit --quiet -m a";
        let run = |command: &str| run_command(command, folder.path(), COMMAND_TIMEOUT).unwrap();
        run(&format!("git init --quiet root; cd root; echo 1 > kept; git add .; {commit}"));
        make_clone(&root, &clone).unwrap();
        let modified = || clone.join("kept").metadata().unwrap().modified().unwrap();
        let before = modified();
        run("echo 2 > clone/kept-not; mkdir clone/target; echo 3 > clone/target/built");
        run(&format!("cd root; echo 4 > new; git add .; {commit}"));
        make_clone(&root, &clone).unwrap();
        assert_eq!(modified(), before);
        assert!(clone.join("new").is_file() && clone.join("target/built").is_file());
        assert!(!clone.join("kept-not").exists());
        // One that is broken is made anew, and what is around it is left alone.
        run("git init --quiet; rm clone/.git/HEAD; echo 5 > mine");
        make_clone(&root, &clone).unwrap();
        assert!(folder.path().join("mine").is_file());
        assert!(clone.join("new").is_file() && !clone.join("target").exists());
    }

    #[test]
    fn a_walk_without_steps_fails() {
        let folder = tempfile::tempdir().unwrap();
        let commit = "git -c user.name=a -c user.email=a@b.test commit --quiet -m a";
        let files = "mkdir -p book/src; echo > Cargo.toml; echo '[A](a.md)' > book/src/SUMMARY.md";
        let page = |text: &str| {
            let made = format!("{files}; echo '{text}' > book/src/a.md; git add .; {commit}");
            run_command(&made, folder.path(), COMMAND_TIMEOUT).unwrap();
            walk_in_clone(folder.path(), &folder.path().join(".git/target"))
        };
        run_command("git init --quiet", folder.path(), COMMAND_TIMEOUT).unwrap();
        assert!(page("```console\n$ true\n```").unwrap());
        assert!(page("Nothing.").is_err());
    }

    #[test]
    fn the_packages_of_a_copy_have_another_version() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let changed = with_other_version(&manifest, "copy");
        assert_eq!(changed.len(), manifest.len() + "+copy".len());
        assert!(changed.contains("[workspace.package]\nversion = \"0.1.0+copy\"\n"), "{changed}");
    }

    #[test]
    fn steps_are_the_lines_behind_a_dollar_sign() {
        let text = "```console\n$ one \\\n    more\n$ two\n```\n```text\n$ three\n```\n";
        let page = Page { path: PathBuf::from("a.md"), text: text.to_owned() };
        let step = |location: &str, command: &str| Step {
            location: location.into(),
            command: command.into(),
        };
        assert_eq!(steps(&page), [step("a.md:2", "one \\\n    more"), step("a.md:4", "two")]);
    }

    #[test]
    fn a_command_that_fails_or_hangs_is_an_error() {
        let here = Path::new(".");
        assert!(run_command("true | cat", here, COMMAND_TIMEOUT).is_ok());
        assert!(run_command("false | cat", here, COMMAND_TIMEOUT).is_err());
        let begun = Instant::now();
        let error =
            run_command("sleep 60 & sleep 60", here, Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("not done after 50ms"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
