//! The README of each stage and core: its first half is the documentation of the
//! crate, and its commands name what exists.
//!
//! ```text
//! <!-- From src/lib.rs, by cargo xtask readmes. -->
//! ...
//! <!-- Until here. -->
//! ```

use std::fs;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

use book_tools::Finding;
use regex::Regex;
use toml::Table;

/// The folders whose README is checked.
const CRATES: [&str; 8] = [
    "selector-core",
    "transport",
    "web",
    "crawl-core",
    "stage0-threads",
    "stage1-callbacks",
    "stage2-coroutines",
    "stage3-queue",
];
const BEGIN: &str = "<!-- From src/lib.rs, by cargo xtask readmes. -->\n";
const END: &str = "<!-- Until here. -->\n";
/// The number of lines of one screen.
const SCREEN: usize = 80;

/// Writes the first half of each README anew.
pub(crate) fn write(root: &Path) -> io::Result<bool> {
    for name in CRATES {
        let path = root.join("crates").join(name).join("README.md");
        let old = fs::read_to_string(&path)?;
        let new = renewed(&old, &documentation(root, name)?);
        let new =
            new.ok_or_else(|| io::Error::other(format!("{name}: no markers in README.md")))?;
        fs::write(&path, new)?;
    }
    Ok(true)
}

/// Returns what is wrong with the READMEs.
pub(crate) fn check(root: &Path) -> io::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for name in CRATES {
        let path = Path::new("crates").join(name).join("README.md");
        let text = fs::read_to_string(root.join(&path)).unwrap_or_default();
        if renewed(&text, &documentation(root, name)?).as_ref() != Some(&text) {
            let what = "not what src/lib.rs says; see xtask readmes";
            findings.push(Finding::new(&path, 1, what));
        }
        if text.lines().count() > SCREEN {
            let what = format!("longer than a screen of {SCREEN} lines");
            findings.push(Finding::new(&path, SCREEN, what));
        }
        for (index, line) in text.lines().enumerate() {
            for missing in missing_targets(root, line) {
                let what = format!("a command names {missing}, which does not exist");
                findings.push(Finding::new(&path, index + 1, what));
            }
        }
    }
    Ok(findings)
}

/// Returns the README with this first half, or `None` if it has no markers.
fn renewed(readme: &str, documentation: &str) -> Option<String> {
    let (before, rest) = readme.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{documentation}\n{END}{after}"))
}

/// Returns the documentation of a crate up to its rules and the order in which it
/// is read, without links to items.
fn documentation(root: &Path, name: &str) -> io::Result<String> {
    let source = fs::read_to_string(root.join("crates").join(name).join("src/lib.rs"))?;
    Ok(head(&source))
}

fn head(source: &str) -> String {
    static ITEM: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\[(`[^`\]]+`)\](?:\([^)]*\))?").expect("a pattern"));
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let text: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let text = text.join("\n");
    let paragraphs: Vec<&str> = text.split("\n\n").collect();
    let last = paragraphs.iter().position(|paragraph| paragraph.starts_with("Read "));
    let last = last.unwrap_or(paragraphs.len() - 1);
    let kept = paragraphs[..=last].join("\n\n");
    ITEM.replace_all(&kept, "$1").trim_end().to_owned() + "\n"
}

/// Returns the packages, examples and tests that a command names and that do not
/// exist.
fn missing_targets(root: &Path, line: &str) -> Vec<String> {
    let Some(command) = line.strip_prefix("$ ") else { return Vec::new() };
    let words: Vec<&str> = command.split_whitespace().collect();
    let mut missing = Vec::new();
    let mut package = None;
    for pair in words.windows(2) {
        match *pair {
            ["-p", name] => {
                let folder = name.strip_prefix("fourways-").unwrap_or(name);
                let folder = root.join("crates").join(folder);
                package = is_package(&folder, name).then_some(folder);
                if package.is_none() {
                    missing.push(format!("the package {name}"));
                }
            }
            ["--example", name] => {
                let file = package.as_ref().map(|it| it.join(format!("examples/{name}.rs")));
                if !file.is_some_and(|file| file.exists()) {
                    missing.push(format!("the example {name}"));
                }
            }
            ["--test", name] => {
                let exists = package.as_ref().is_some_and(|folder| {
                    let tests = folder.join("tests");
                    tests.join(format!("{name}.rs")).exists()
                        || tests.join(name).join("main.rs").exists()
                });
                if !exists {
                    missing.push(format!("the test {name}"));
                }
            }
            _ => {}
        }
    }
    missing
}

/// Returns true if a folder has the package of this name.
fn is_package(folder: &Path, name: &str) -> bool {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    let manifest: Table = manifest.parse().unwrap_or_default();
    manifest.get("package").and_then(|package| package.get("name")?.as_str()) == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "//! A crate for [`Task`]s.\n//!\n//! The rules:\n//!\n//! 1. **One.**\n\
                          //!    See [`loop`](EventLoop).\n//!\n//! Read `a` first.\n//!\n//! More.\n\
                          \nmod a;\n//! not this\n";
    const HEAD: &str =
        "A crate for `Task`s.\n\nThe rules:\n\n1. **One.**\n   See `loop`.\n\nRead `a` first.\n";

    #[test]
    fn the_head_ends_with_the_order_of_reading_and_has_no_links() {
        assert_eq!(head(SOURCE), HEAD);
        let without_order = SOURCE.replace("Read `a`", "Look at `a`");
        assert!(head(&without_order).ends_with("More.\n"));
    }

    #[test]
    fn what_is_not_from_the_crate_stays() {
        let readme = format!("# name\n\n{BEGIN}\nold\n\n{END}\n## Commands\n");
        let new = renewed(&readme, HEAD).unwrap();
        assert_eq!(new, format!("# name\n\n{BEGIN}\n{HEAD}\n{END}\n## Commands\n"));
        assert_eq!(renewed(&new, HEAD).unwrap(), new);
        assert_eq!(renewed("# name\n", HEAD), None);
    }

    #[test]
    fn commands_name_what_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let missing = |line: &str| missing_targets(&root, line);
        assert!(missing("$ cargo test -p xtask").is_empty());
        assert!(missing("cargo test -p no-such").is_empty(), "no command");
        assert_eq!(missing("$ cargo test -p no-such"), ["the package no-such"]);
        assert_eq!(missing("$ cargo test -p web"), ["the package web"]);
        assert!(missing("$ cargo test -p fourways-web").is_empty());
        assert_eq!(missing("$ cargo run -p xtask --example x"), ["the example x"]);
        assert_eq!(missing("$ cargo test -p xtask --test x"), ["the test x"]);
    }
}
