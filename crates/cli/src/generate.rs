//! The manual page and the completions for shells, generated from the definition of the
//! command line; and the schema of the reports in JSON.

use std::io;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, ValueEnum, ValueHint};
use clap_complete::Shell;
use clap_mangen::Man;
use crawl_core::Check;

use crate::arguments::EXIT_CODES_OF_TOOL;

/// A text that is generated from the definition of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Generated {
    /// The manual page, in roff
    Man,
    /// Completions for bash
    CompleteBash,
    /// Completions for zsh
    CompleteZsh,
    /// Completions for fish
    CompleteFish,
    /// The JSON schema of --format json, and of a row
    Schema,
}

const SCHEMA: &str = include_str!("schema.json");

impl Generated {
    /// Writes the text to `out`.
    ///
    /// # Errors
    /// Those of writing.
    pub(crate) fn write(self, command: Command, out: &mut dyn io::Write) -> io::Result<()> {
        let shell = match self {
            Self::Man => return write_manual(command, out),
            Self::CompleteBash => Shell::Bash,
            Self::CompleteZsh => Shell::Zsh,
            Self::CompleteFish => Shell::Fish,
            Self::Schema => return out.write_all(SCHEMA.as_bytes()),
        };
        // Into memory first: the generator panics when it cannot write.
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut completed(&command), "crawl", &mut text);
        out.write_all(&text)
    }
}

/// Returns the command as a shell completes it: without hidden flags, with the kinds of
/// `--check`, and without file names where none is expected.
fn completed(command: &Command) -> Command {
    let visible = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let completed = |argument: &Arg| {
        let argument = argument.clone();
        if argument.get_long() == Some("check") {
            let kinds = ["all", "none"].into_iter().map(str::to_owned);
            let signed = ["", "+", "-"]
                .into_iter()
                .flat_map(|sign| Check::NAMES.iter().map(move |name| format!("{sign}{name}")));
            argument.value_parser(PossibleValuesParser::new(kinds.chain(signed)))
        } else if argument.get_action().takes_values()
            && argument.get_value_hint() == ValueHint::Unknown
        {
            argument.value_hint(ValueHint::Other)
        } else {
            argument
        }
    };
    Command::new("crawl").version(env!("CARGO_PKG_VERSION")).args(visible.map(completed))
}

/// Writes the manual page.
fn write_manual(command: Command, out: &mut dyn io::Write) -> io::Result<()> {
    let manual = Man::new(command);
    manual.render_title(out)?;
    manual.render_name_section(out)?;
    manual.render_synopsis_section(out)?;
    manual.render_description_section(out)?;
    manual.render_options_section(out)?;
    out.write_all(b".SH \"EXIT STATUS\"\n")?;
    let (codes, units) = EXIT_CODES_OF_TOOL.split_once("\n\n").unwrap_or((EXIT_CODES_OF_TOOL, ""));
    for line in codes.lines().skip(1) {
        // A code is indented by two blanks, and its text by more.
        match line.trim_start().split_once("  ") {
            Some((code, text)) => writeln!(out, ".TP\n.B {code}\n{}", roff(text))?,
            None => writeln!(out, "{}", roff(line.trim_start()))?,
        }
    }
    writeln!(out, ".PP\n{}", roff(units))?;
    for (heading, entries) in [("FILES", &FILES[..]), ("ENVIRONMENT", &ENVIRONMENT)] {
        writeln!(out, ".SH {heading}")?;
        for (name, text) in entries {
            writeln!(out, ".TP\n.B {}\n{}", roff(name), roff(text))?;
        }
    }
    writeln!(out, ".SH EXAMPLES")?;
    for (command, text) in EXAMPLES {
        writeln!(out, ".PP\n{}\n.PP\n.RS\n.nf\n{}\n.fi\n.RE", roff(text), roff(command))?;
    }
    Ok(())
}

/// Escapes text for the manual. No line of it begins with a dot or an apostrophe.
fn roff(text: &str) -> String {
    text.replace('\\', "\\\\").replace('-', "\\-")
}

const FILES: [(&str, &str); 1] = [(
    "crawl.toml",
    "Settings, in this folder or in the nearest one above. Each key is the long name of a flag. \
     Settings for a host stand below [host.\"NAME\"]. Flags on the command line win.",
)];

const ENVIRONMENT: [(&str, &str); 4] = [
    (
        "http_proxy, https_proxy, all_proxy, no_proxy",
        "The proxies to use if neither --proxy nor --no-proxy is given, as curl reads them.",
    ),
    (
        "SSL_CERT_FILE, SSL_CERT_DIR",
        "Certificates to trust instead of those of the system. --cacert adds to them.",
    ),
    ("NO_COLOR", "If set, --color auto prints no colors."),
    (
        "GITHUB_STEP_SUMMARY",
        "The file to which --format github appends a summary. GitHub Actions sets it.",
    ),
];

const EXAMPLES: [(&str, &str); 5] = [
    ("crawl https://example.com", "Check a site:"),
    ("crawl --external public", "Check a folder with a built site, and its links to other sites:"),
    ("git ls-files '*.md' | crawl -", "Check the Markdown files of a repository:"),
    (
        "crawl -o report.html -o junit:links.xml https://example.com",
        "Write a report to read and one for the CI server:",
    ),
    ("crawl --one-page https://example.com/news", "Check only the links of one page:"),
];
