//! The tools that are compared: how each is started, and how its report is read.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::reports::{self, Report};

/// The site of a run, and the wishes for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    pub(super) root: &'a str,
    /// The pages of the site, for a tool that follows no links.
    pub(super) pages: &'a [String],
    /// True to look for the targets of fragments, where a tool can.
    pub(super) fragments: bool,
    /// A regular expression for other hosts, which are left out.
    pub(super) other_hosts: &'a str,
}

/// A tool.
#[derive(Debug)]
pub(crate) struct Tool {
    /// The name in tables, and in the ids of figures.
    pub(crate) name: &'static str,
    /// The program: the name of a command, or a path from the root of the workspace, where
    /// `target/release` is the one of cargo.
    program: &'static str,
    /// The words of the command after the program. `ROOT` is the URL of the site, `PAGES` the
    /// URLs of its pages, and `OTHERS` the expression for other hosts.
    arguments: &'static str,
    /// The words that are added to look for the targets of fragments.
    fragments: &'static str,
    /// The words that are added to get a report for machines.
    report: &'static str,
    /// The arguments with which it tells its version.
    version: &'static str,
    pub(super) read: fn(&str) -> Report,
    pub(super) place: Place,
}

/// The place of the report for machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Stdout,
    Stderr,
    /// The file `report`.
    File,
}

/// The one that the others are compared with.
pub(crate) const OURS: &str = "crawl";
/// The same with fragments, for the planted site alone.
pub(crate) const WITH_FRAGMENTS: &str = "crawl +fragments";

const PLAIN: Tool = Tool {
    name: OURS,
    program: "target/release/crawl",
    arguments: "ROOT",
    fragments: "",
    report: "--format json",
    version: "--version",
    read: reports::crawl,
    place: Place::Stdout,
};

/// All tools, in the order of the rows and of the runs.
pub(crate) const TOOLS: &[Tool] = &[
    PLAIN,
    Tool { name: WITH_FRAGMENTS, arguments: "--check +fragments ROOT", ..PLAIN },
    Tool {
        name: "wget",
        program: "wget",
        arguments: "--spider --recursive --level=inf --page-requisites --execute=robots=off \
                    --no-directories --no-verbose ROOT",
        report: "",
        read: reports::wget,
        place: Place::Stderr,
        ..PLAIN
    },
    Tool {
        name: "wget2",
        program: "wget2",
        arguments: "--spider --recursive --level=inf --page-requisites --robots=off \
                    --max-threads=10 ROOT",
        report: "",
        read: reports::wget2,
        ..PLAIN
    },
    Tool {
        name: "lychee",
        program: "target/peers/python/bin/lychee",
        arguments: "--no-progress --max-concurrency 10 --host-concurrency 10 \
                    --host-request-interval 0s --cookie-jar cookies \
                    --exclude OTHERS PAGES",
        fragments: "--include-fragments",
        report: "--format json",
        read: reports::lychee,
        ..PLAIN
    },
    Tool {
        name: "linkinator",
        program: "target/peers/node/node_modules/.bin/linkinator",
        arguments: "ROOT --recurse --check-css --concurrency 10 --skip OTHERS",
        fragments: "--check-fragments",
        report: "--format json",
        read: reports::linkinator,
        ..PLAIN
    },
    Tool {
        name: "linkchecker",
        program: "target/peers/python/bin/linkchecker",
        arguments: "--config WORKSPACE/benches/peers/linkcheckerrc --no-status ROOT",
        fragments: "--config WORKSPACE/benches/peers/linkcheckerrc-fragments",
        report: "--file-output csv/utf-8/report",
        place: Place::File,
        read: reports::linkchecker,
        ..PLAIN
    },
    Tool {
        name: "blc",
        program: "target/peers/node/node_modules/.bin/blc",
        arguments: "--recursive --follow --exclude-external --filter-level 3 --requests 10 \
                    --host-requests 10 ROOT",
        report: "",
        read: reports::blc,
        ..PLAIN
    },
    Tool {
        name: "aiohttp",
        program: "target/peers/python/bin/python",
        arguments: "WORKSPACE/benches/peers/crawl.py ROOT",
        report: "",
        version: "WORKSPACE/benches/peers/crawl.py --version",
        read: reports::aiohttp,
        ..PLAIN
    },
];

/// The places of what tools need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'a> {
    /// The root of the workspace.
    pub(super) workspace: &'a Path,
    /// The target folder of cargo.
    pub(super) target: &'a Path,
}

impl Tool {
    /// Returns the path of the program, if it is there.
    fn program(&self, places: Places<'_>) -> Option<PathBuf> {
        if !self.program.contains('/') {
            let path = env::var_os("PATH")?;
            let paths = env::split_paths(&path).map(|folder| folder.join(self.program));
            return paths.into_iter().find(|path| path.is_file());
        }
        let path = match self.program.strip_prefix("target/release/") {
            Some(name) => places.target.join("release").join(name),
            None => places.workspace.join(self.program),
        };
        path.is_file().then_some(path)
    }

    /// Returns the command that runs it, with a report for people or one for machines.
    pub(super) fn command(
        &self,
        places: Places<'_>,
        setting: Setting<'_>,
        for_machines: bool,
    ) -> Option<Vec<String>> {
        let mut words = vec![self.arguments];
        words.extend(setting.fragments.then_some(self.fragments));
        words.extend(for_machines.then_some(self.report));
        let words = words.into_iter().flat_map(str::split_whitespace);
        let arguments = words.flat_map(|word| match word {
            "ROOT" => vec![setting.root.to_owned()],
            "PAGES" => setting.pages.to_vec(),
            "OTHERS" => vec![setting.other_hosts.to_owned()],
            _ => vec![in_workspace(word, places)],
        });
        let program = self.program(places)?.display().to_string();
        Some([program].into_iter().chain(arguments).collect())
    }

    /// Returns true if it follows no links, and is told the pages.
    pub(super) fn needs_pages(&self) -> bool {
        self.arguments.contains("PAGES")
    }

    /// Returns true if the report for machines comes beside the one for people.
    pub(super) fn reports_both(&self) -> bool {
        self.report.is_empty() || self.place == Place::File
    }

    /// Returns its version, or `None` if it is not there.
    pub(super) fn version(&self, places: Places<'_>) -> Option<String> {
        let arguments = self.version.split_whitespace().map(|word| in_workspace(word, places));
        let output = Command::new(self.program(places)?).args(arguments).output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_version =
            |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
        said.split_whitespace().find(is_version).map(str::to_owned)
    }

    /// Returns the command as the book shows it.
    pub(crate) fn shown(&self) -> String {
        let name = self.program.rsplit('/').next().unwrap_or_default();
        let arguments = self.arguments.replace("WORKSPACE/", "");
        let fragments = match self.fragments.replace("WORKSPACE/", "") {
            none if none.is_empty() => none,
            some => format!(" [{some}]"),
        };
        format!("{name} {arguments}{fragments}")
    }
}

fn in_workspace(word: &str, places: Places<'_>) -> String {
    word.replace("WORKSPACE", &places.workspace.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_its_words_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("target/peers/python/bin");
        std::fs::create_dir_all(&bin).unwrap();
        let places = Places { workspace: folder.path(), target: folder.path() };
        let pages = ["http://a/".to_owned(), "http://a/b".to_owned()];
        let setting =
            Setting { root: "http://a/", pages: &pages, fragments: true, other_hosts: "^x y" };
        let lychee = TOOLS.iter().find(|tool| tool.name == "lychee").unwrap();
        assert_eq!(lychee.command(places, setting, true), None);
        std::fs::write(bin.join("lychee"), "").unwrap();
        let command = lychee.command(places, setting, true).unwrap();
        assert!(command[0].ends_with("target/peers/python/bin/lychee"));
        let end = ["^x y", "http://a/", "http://a/b", "--include-fragments", "--format", "json"];
        assert!(command.ends_with(&end.map(str::to_owned)), "{command:?}");
        assert!(lychee.needs_pages() && !lychee.reports_both());
    }

    #[test]
    fn each_tool_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), TOOLS.len());
        assert!(names.contains(OURS) && names.contains(WITH_FRAGMENTS));
    }
}
