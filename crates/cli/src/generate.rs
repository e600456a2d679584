//! The manual page and the completions for shells, generated from the definition of the
//! command line; and the schema of the reports in JSON.

use std::io;

use clap::{Command, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;

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
    pub(crate) fn write(self, mut command: Command, out: &mut dyn io::Write) -> io::Result<()> {
        let shell = match self {
            Self::Man => return Man::new(command).render(out),
            Self::CompleteBash => Shell::Bash,
            Self::CompleteZsh => Shell::Zsh,
            Self::CompleteFish => Shell::Fish,
            Self::Schema => return out.write_all(SCHEMA.as_bytes()),
        };
        // Into memory first: the generator panics when it cannot write.
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command, "crawl", &mut text);
        out.write_all(&text)
    }
}
