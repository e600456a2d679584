//! The precedence of flags: those of the command line beat the words of a file or of a
//! record, also where clap does not know that they contradict each other.

use std::ffi::OsString;
use std::path::Path;

use clap::ValueEnum;

use super::output::{Destination, Format};
use crate::parsers;

/// The flags of a crawl in one process, beside `--baseline`.
const ONE_PROCESS: [&str; 7] = [
    "--cache",
    "--external-rate",
    "--follow-root",
    "--max-depth",
    "--record",
    "--sitemap",
    "--state",
];

/// A word of the command line: a flag and its value, which is empty if it has none.
#[derive(Clone, Copy)]
struct Word<'a> {
    flag: &'a str,
    value: &'a str,
}

impl<'a> Word<'a> {
    fn new(word: &'a str) -> Self {
        let (flag, value) = word.split_once('=').unwrap_or((word, ""));
        Self { flag, value }
    }

    fn is_authorization(self) -> bool {
        let is_it = |header: web::http::Header| header.is("Authorization");
        self.flag == "--header" && parsers::header(self.value).is_ok_and(is_it)
    }

    fn destination(self) -> Option<Destination> {
        Destination::parse(self.value).ok().filter(|_| self.flag == "--output")
    }

    /// Returns true if it is a report without a format of its own.
    fn is_plain_report(self) -> bool {
        self.destination().is_some_and(|to| to.format.is_none())
    }

    /// Returns true if it is a report on stdout with a format of its own.
    fn is_on_stdout(self) -> bool {
        self.destination().is_some_and(|to| to.format.is_some() && to.file == Path::new("-"))
    }

    /// Returns the format that it names, or `default` for a report without one.
    fn format(self, default: Option<Format>) -> Option<Format> {
        match self.flag {
            "--format" => Format::from_str(self.value, false).ok(),
            _ => self.destination().and_then(|to| to.format.or(default)),
        }
    }

    fn has_format(self, default: Option<Format>, is_such: fn(Format) -> bool) -> bool {
        self.format(default).is_some_and(is_such)
    }
}

/// Returns the words of a file or of a record without those that contradict a word that is
/// `given` on the command line, as [`Consistency`](super::Consistency) finds it.
pub(super) fn without_contradicted(words: Vec<OsString>, given: &[String]) -> Vec<OsString> {
    let given: Vec<Word<'_>> = given.iter().map(|word| Word::new(word)).collect();
    let names = |flag: &str| given.iter().any(|word| word.flag == flag);
    let shown: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let ours: Vec<Word<'_>> = shown.iter().map(|word| Word::new(word)).collect();
    let format = ours.iter().find(|word| word.flag == "--format").and_then(|it| it.format(None));
    let has_sitemap = given.iter().any(|word| word.has_format(None, Format::is_sitemap));
    let is_report_lost = |word: &Word<'_>| {
        let is_hidden = names("--broken-only") && word.has_format(format, Format::is_sitemap);
        match word.flag {
            // Two reports would go to stdout.
            "--format" => {
                let has_file = given.iter().any(|word| word.is_plain_report());
                is_hidden || !has_file && given.iter().any(|word| word.is_on_stdout())
            }
            "--output" => {
                let has_file = ours.iter().any(|word| word.is_plain_report());
                is_hidden || !has_file && names("--format") && word.is_on_stdout()
            }
            _ => false,
        }
    };
    let mut reports = given.iter().chain(ours.iter().filter(|word| !is_report_lost(word)));
    let has_json = reports.any(|word| word.has_format(None, Format::is_json));
    let is_asked = ["--report", "--status", "--drop"].into_iter().any(names);
    let compares = names("--baseline") && !is_asked;
    let is_kept = |word: &Word<'_>| {
        !match word.flag {
            "--user" => given.iter().any(|word| word.is_authorization()),
            "--header" => names("--user") && word.is_authorization(),
            "--broken-only" => has_sitemap,
            // Without it, a replay would depart from its record.
            "--select" if names("--replay") => false,
            "--select" => (names("--format") || names("--output")) && !has_json,
            "--format" | "--output" => is_report_lost(word),
            "--follow-root" | "--cache" | "--external-rate" => names("--frontier"),
            "--baseline" => names("--frontier") && !is_asked,
            // A worker that would not heed them is refused.
            "--for-host" => names("--frontier") && is_asked,
            // Each needs the first, which clap knows some of these to contradict.
            "--frontier" | "--crawl" | "--frontier-wait" | "--journal" => {
                !names("--frontier") && (compares || ONE_PROCESS.into_iter().any(names))
            }
            _ => false,
        }
    };
    let kept: Vec<bool> = ours.iter().map(is_kept).collect();
    words.into_iter().zip(kept).filter_map(|(word, is_kept)| is_kept.then_some(word)).collect()
}
