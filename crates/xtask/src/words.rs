//! The words of the workspace: a lint of comments, identifiers and file names.
//!
//! 1. The first line of a module header or doc comment is a noun phrase or a
//!    verb in the third person. It begins with no question word.
//! 2. A program is "it": comments have no personal pronouns for programs.
//! 3. Retired words, for which the field has better ones, are in no identifier
//!    and no file name. In prose they are plain English and allowed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use book_tools::scan::{Kind, scan};
use book_tools::{Finding, files_below};
use regex::Regex;

/// The folders with Rust sources, seen from the root of the workspace.
const FOLDERS: [&str; 2] = ["crates", "benches"];

/// Words that are part of no identifier and no file name, with the field's word.
const RETIRED: [(&str, &str); 47] = [
    ("alarm", "timer event"),
    ("alarms", "timer events"),
    ("anybody", "any host, any user agent"),
    ("asker", "waiter"),
    ("complain", "report"),
    ("complaint", "loop error"),
    ("conclude", "complete"),
    ("conclusion", "completion"),
    ("contest", "comparison"),
    ("crowd", "batch"),
    ("crowded", "throttled"),
    ("crowds", "batches"),
    ("curious", "robots waiters"),
    ("diagnose", "inspect"),
    ("elsewhere", "other runtimes, another host"),
    ("everybody", "all tasks"),
    ("former", "stale"),
    ("go_on", "start fetches, resume"),
    ("heeded", "signal guard"),
    ("in_line", "waiter"),
    ("in_world", "with_backend"),
    ("joiner", "base url"),
    ("knock", "connect"),
    ("knocking", "connecting"),
    ("ledger", "row writer"),
    ("let_in", "retry, admit"),
    ("look_up", "lookup"),
    ("look_ups", "lookups"),
    ("mailbox", "inject queue"),
    ("manners", "politeness"),
    ("mention", "link context"),
    ("mentions", "link contexts"),
    ("news", "events"),
    ("nobody", "none"),
    ("noting", "with_wait"),
    ("occasion", "timer action"),
    ("patience", "deadline"),
    ("put_off", "defer"),
    ("put_offs", "deferrals"),
    ("somebody", "a task, a caller"),
    ("standing", "progress"),
    ("starved", "waiting for a descriptor"),
    ("survive", "fetch_catching_panic"),
    ("take_back", "cancel, roll back"),
    ("too_late", "timed out, elapsed"),
    ("unfit", "link error"),
    ("world", "backend"),
];

/// Identifiers that hold a retired word and are names of other programs.
const ALLOWED: [&str; 2] = ["hello_world_callback", "hello_world_coroutine"];

static QUESTION: LazyLock<Regex> = LazyLock::new(|| {
    let words = "What|Who|Whose|Whom|Which|Where|When|Whether|Why|How";
    let pronouns = "Nobody|Somebody|Whoever|Anybody|Everybody";
    Regex::new(&format!(r"^({words}|{pronouns})\b")).expect("a pattern")
});

static PRONOUN: LazyLock<Regex> = LazyLock::new(|| {
    let personal = "he|him|his|himself|she|her|herself|whoever|whomever|whom";
    let indefinite = "nobody|somebody|anybody|everybody|someone|everyone";
    Regex::new(&format!(r"(?i)\b({personal}|{indefinite})\b")).expect("a pattern")
});

/// Checks every Rust source below the root of the workspace.
///
/// # Errors
/// Those of reading the sources.
pub(crate) fn check(root: &Path) -> io::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in sources(root)? {
        let text = fs::read_to_string(root.join(&path))?;
        findings.extend(check_source(&path, &text));
    }
    findings.sort();
    Ok(findings)
}

/// Every Rust source of the workspace, seen from its root.
pub(crate) fn sources(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        for file in files_below(&root.join(folder))? {
            let path = file.strip_prefix(root).map_err(io::Error::other)?;
            if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path.to_owned());
            }
        }
    }
    Ok(files)
}

fn check_source(path: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = |line, what: String| findings.push(Finding::new(path, line, what));
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    if let Some(advice) = retired(&stem).filter(|_| !ALLOWED.contains(&stem.as_ref())) {
        found(1, format!("the file name {stem} {advice}"));
    }
    let help = help_texts(text);
    let mut last_doc = None;
    let mut reported = BTreeSet::new();
    for piece in scan(text) {
        match piece.kind {
            Kind::Comment if help.iter().any(|lines| lines.contains(&piece.line)) => {}
            Kind::Comment => {
                let doc = ["//!", "///"].iter().find_map(|sign| piece.text.strip_prefix(sign));
                let prose = without_code(doc.unwrap_or(piece.text.trim_start_matches('/')));
                let is_first = doc.is_some() && last_doc != Some(piece.line - 1);
                if is_first && QUESTION.is_match(prose.trim_start()) {
                    found(piece.line, "a doc comment begins with a question word".to_owned());
                }
                if let Some(pronoun) = PRONOUN.find(&prose) {
                    found(
                        piece.line,
                        format!("\"{}\" in a comment: a program is \"it\"", pronoun.as_str()),
                    );
                }
                last_doc = doc.map(|_| piece.line);
            }
            Kind::Identifier => {
                let advice = retired(piece.text).filter(|_| !ALLOWED.contains(&piece.text));
                if let Some(advice) = advice
                    && reported.insert(piece.text)
                {
                    found(piece.line, format!("{} {advice}", piece.text));
                }
            }
            Kind::Literal => {}
        }
    }
    findings
}

/// The lines of items that clap derives arguments from: their doc comments are
/// the help texts of a program, which are prose for its users.
fn help_texts(text: &str) -> Vec<RangeInclusive<usize>> {
    let lines: Vec<&str> = text.lines().collect();
    let is_above = |line: &&&str| line.trim_start().starts_with("///") || line.contains("#[");
    let derives = |line: &str| {
        let traits = ["Parser", "Args", "Subcommand", "ValueEnum"];
        line.trim_start().starts_with("#[derive(") && traits.iter().any(|name| line.contains(name))
    };
    let item = |at: usize| {
        let above = lines[..at].iter().rev().take_while(is_above).count();
        let indent = lines[at].len() - lines[at].trim_start().len();
        let end = format!("{}}}", " ".repeat(indent));
        let below = lines[at..].iter().take_while(|line| !line.starts_with(&end)).count();
        at + 1 - above..=at + 1 + below
    };
    (0..lines.len()).filter(|&at| derives(lines[at])).map(item).collect()
}

/// The advice for an identifier or file name that holds a retired word.
fn retired(name: &str) -> Option<String> {
    let words = format!("_{}_", snake_case(name));
    let (word, better) = RETIRED.iter().find(|(word, _)| words.contains(&format!("_{word}_")))?;
    Some(format!("holds the retired word {word}: say {better}"))
}

/// An identifier of any case in snake_case.
fn snake_case(name: &str) -> String {
    let mut words = String::new();
    let mut was_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && was_lower {
            words.push('_');
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
        words.extend(c.to_lowercase());
    }
    words
}

/// A comment without its spans of code.
fn without_code(comment: &str) -> String {
    comment.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let found = check_source(Path::new("crates/a/src/b.rs"), text);
        found.iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn finds(text: &str, what: &str) {
        let found = findings(text);
        assert!(found.len() == 1 && found[0].contains(what), "{found:?}");
    }

    #[test]
    fn question_words_begin_no_doc_comment() {
        finds("//! What a page is.\n", "b.rs:1: a doc comment begins");
        finds("/// Whether it is closed.\nfn f() {}\n", "question word");
        assert_eq!(
            findings("/// The page.\n/// What it holds.\n// What now?\nfn f() {}\n"),
            [""; 0]
        );
    }

    #[test]
    fn comments_have_no_pronouns_for_programs() {
        finds("// The task and whoever waits.\n", "\"whoever\"");
        finds("/// Its key.\n///\n/// He may wait.\n", "b.rs:3: \"He\"");
        assert_eq!(
            findings("/// The word `nobody` in code.\nlet a = \"nobody // he\";\n"),
            [""; 0]
        );
    }

    #[test]
    fn help_texts_are_prose() {
        let help = "/// What to crawl.\n#[derive(Debug, Args)]\nstruct A {\n    /// Whom to ask\n    a: u8,\n}\n";
        assert_eq!(findings(help), [""; 0]);
        finds(&format!("{help}/// What follows.\nstruct B;\n"), "b.rs:7:");
    }

    #[test]
    fn retired_words_are_in_no_identifier() {
        finds("struct ConnectAlarm;\n", "timer event");
        finds("fn is_put_off() {}\nfn g() { is_put_off() }\n", "defer");
        assert_eq!(findings("fn farmanners() {} // manners\nlet s = \"world\";\n"), [""; 0]);
        let found = check_source(Path::new("crates/a/src/manners.rs"), "");
        assert_eq!(found.len(), 1);
    }
}
