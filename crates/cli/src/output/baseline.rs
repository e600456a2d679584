//! The baseline: a file of broken URLs that are known, so that a report has only
//! those that are new.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

use crawl_core::ErrorClass;
use serde::{Deserialize, Serialize};

use super::broken::Broken;
use crate::read_text::read_text;
use crate::replace_file::replace_file;

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
    /// The URLs of known ones that this crawl has seen; true for those that are fine now.
    seen: HashMap<String, bool>,
    /// All redirects in circles. Which of them has the error is chance, so each is known
    /// if one is.
    in_circles: BTreeSet<Known>,
}

/// A broken URL that is known. If it is broken in another way, it is new.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Known {
    url: String,
    kind: String,
}

impl Known {
    fn in_circle(url: &str) -> Self {
        Self { url: url.to_owned(), kind: ErrorClass::RedirectLoop.name().to_owned() }
    }
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
    /// When the file cannot be read, is no baseline, or is a pipe that is to be updated; as a
    /// sentence.
    pub(crate) fn read(path: PathBuf, is_updated: bool) -> Result<Self, String> {
        let name = path.display();
        if is_updated && path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo()) {
            return Err(format!("--update-baseline needs a file, and --baseline {name} is a pipe"));
        }
        let known = match File::open(&path).and_then(read_text) {
            Ok(text) => {
                serde_json::from_str(&text)
                    .ok()
                    .filter(|contents: &Contents| contents.schema_version == SCHEMA_VERSION)
                    .ok_or_else(|| format!("--baseline {name} is not a baseline"))?
                    .broken
            }
            Err(error) if error.kind() == ErrorKind::NotFound && is_updated => BTreeSet::new(),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(format!(
                    "--baseline {name} does not exist (add --update-baseline to create it)"
                ));
            }
            Err(error) => return Err(format!("--baseline {name} cannot be read: {error}")),
        };
        let (found, seen, in_circles) = Default::default();
        Ok(Self { path, is_updated, known, found, seen, in_circles })
    }

    /// Returns true if a broken URL is not to be reported.
    pub(super) fn knows(&mut self, broken: &Broken) -> bool {
        // That may be over when it runs again, and would hide a name that is gone for good.
        if broken.kind() == ErrorClass::DnsTemporary.name() {
            return false;
        }
        let known = Known { url: broken.url.to_string(), kind: broken.kind() };
        let is_known = self.is_updated || self.known.contains(&known);
        if is_known {
            self.found.insert(known);
        }
        is_known
    }

    /// Takes a URL that the crawl has seen.
    pub(super) fn add(&mut self, url: &str, is_fine: bool) {
        if self.knows_url(url) {
            self.seen.insert(url.to_owned(), is_fine);
        }
    }

    /// Takes a URL that is in a circle of redirects, and forgets what was found of it.
    pub(super) fn add_to_circle(&mut self, url: &str) {
        self.found.retain(|known| known.url != url);
        self.add(url, false);
        self.in_circles.insert(Known::in_circle(url));
    }

    /// Returns true if a URL is known to be in a circle of redirects.
    pub(super) fn knows_circle(&self, url: &str) -> bool {
        self.known.contains(&Known::in_circle(url))
    }

    fn knows_url(&self, url: &str) -> bool {
        let first = Known { url: url.to_owned(), kind: String::new() };
        self.known.range(first..).next().is_some_and(|known| known.url == url)
    }

    /// Returns true if a known URL is broken no more: it is fine, or a crawl that has asked
    /// every URL has not found it.
    fn is_mended(&self, known: &Known, is_whole: bool) -> bool {
        self.seen.get(&known.url).map_or(is_whole, |is_fine| *is_fine)
    }

    /// Returns the counts after the crawl. If it has not asked every URL, what it has not
    /// seen does not count as mended.
    pub(super) fn counts(&self, is_whole: bool) -> KnownCounts {
        let mended = self.known.iter().filter(|known| self.is_mended(known, is_whole)).count();
        KnownCounts { still: self.found.len(), mended }
    }

    /// Writes the file anew, if it is to be updated. What is mended leaves it, and what is
    /// broken in another way is there once.
    ///
    /// # Errors
    /// The error of writing the file, with its name.
    pub(super) fn update(&self, is_whole: bool) -> io::Result<()> {
        if !self.is_updated {
            return Ok(());
        }
        let now: BTreeSet<_> = self.found.union(&self.in_circles).cloned().collect();
        let urls: HashSet<&str> = now.iter().map(|known| &*known.url).collect();
        let is_kept =
            |known: &&Known| !self.is_mended(known, is_whole) && !urls.contains(&*known.url);
        let broken = now.iter().chain(self.known.iter().filter(is_kept)).cloned().collect();
        let contents = Contents { schema_version: SCHEMA_VERSION, broken };
        let text = serde_json::to_string_pretty(&contents)? + "\n";
        let name = self.path.display();
        replace_file(&self.path, text.as_bytes(), 0o666)
            .map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))
    }
}
