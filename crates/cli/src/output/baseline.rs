//! The baseline: a file of broken URLs that are known, so that a report has only
//! those that are new.

use std::collections::{BTreeSet, HashSet};
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::{fs, mem};

use serde::{Deserialize, Serialize};

use super::broken::Broken;

/// Version of the file. It changes when older programs cannot read it.
const SCHEMA_VERSION: u32 = 1;

/// A baseline, and what a crawl has found of it.
#[derive(Clone, Debug)]
pub(crate) struct Baseline {
    path: PathBuf,
    /// True if the file is replaced by what the crawl finds.
    is_updated: bool,
    known: BTreeSet<Known>,
    found: BTreeSet<Known>,
}

/// A broken URL that is known. If it is broken in another way, it is new.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Known {
    url: String,
    kind: String,
}

#[derive(Serialize, Deserialize)]
struct Contents {
    schema_version: u32,
    broken: BTreeSet<Known>,
}

/// The numbers of known broken URLs.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownCounts {
    /// Those that are still broken.
    pub(super) still: usize,
    /// Those that are not.
    pub(super) mended: usize,
}

impl Baseline {
    /// Reads a baseline. One that is to be updated may be missing.
    ///
    /// # Errors
    /// When the file cannot be read, or is no baseline; as a sentence.
    pub(crate) fn read(path: PathBuf, is_updated: bool) -> Result<Self, String> {
        let name = path.display();
        let known = match fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes)
                    .ok()
                    .filter(|contents: &Contents| contents.schema_version == SCHEMA_VERSION)
                    .ok_or_else(|| format!("--baseline {name} is no baseline"))?
                    .broken
            }
            Err(error) if error.kind() == ErrorKind::NotFound && is_updated => BTreeSet::new(),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(format!(
                    "--baseline {name} does not exist: --update-baseline writes it"
                ));
            }
            Err(error) => return Err(format!("--baseline {name} cannot be read: {error}")),
        };
        Ok(Self { path, is_updated, known, found: BTreeSet::new() })
    }

    /// Returns true if a broken URL is not to be reported.
    pub(super) fn knows(&mut self, broken: &Broken) -> bool {
        let known = Known { url: broken.url.to_string(), kind: broken.kind() };
        let is_known = self.is_updated || self.known.contains(&known);
        if is_known {
            self.found.insert(known);
        }
        is_known
    }

    /// Forgets what was found of these URLs.
    pub(super) fn forget(&mut self, urls: &HashSet<String>) {
        self.found.retain(|known| !urls.contains(&known.url));
    }

    /// Returns the counts after the crawl. If it has not asked every URL, nothing
    /// counts as mended.
    pub(super) fn counts(&self, is_whole: bool) -> KnownCounts {
        let mended = if is_whole { self.known.difference(&self.found).count() } else { 0 };
        KnownCounts { still: self.found.len(), mended }
    }

    /// Writes the file anew, if it is to be updated. After a crawl that has not asked
    /// every URL, what was known stays in it.
    ///
    /// # Errors
    /// The error of writing the file, with its name.
    pub(super) fn update(&mut self, is_whole: bool) -> io::Result<()> {
        if !self.is_updated {
            return Ok(());
        }
        let mut broken = self.found.clone();
        if !is_whole {
            broken.extend(mem::take(&mut self.known));
        }
        let contents = Contents { schema_version: SCHEMA_VERSION, broken };
        let text = serde_json::to_string_pretty(&contents)? + "\n";
        let name = self.path.display();
        fs::write(&self.path, text)
            .map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))
    }
}
