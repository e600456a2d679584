//! The journal in files: records that are old enough are moved there, so that Redis need
//! not have room for all of them.
//!
//! A record is a line of JSON. It is in the file, and synced, before it is taken out of
//! Redis, so a crash leaves a record in both at worst. Readers take the first record of
//! each URL.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use crawl_core::JournalEntry;

/// A file to which records are moved.
pub(crate) struct JournalFile(File);

impl JournalFile {
    /// Opens a file, or creates it. What is in it stays.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let with_path = |error| io::Error::other(format!("{}: {error}", path.display()));
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(with_path)?;
        Ok(Self(file))
    }

    /// Appends records and waits until they are on the disk.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn append(&mut self, records: &[Vec<u8>]) -> io::Result<()> {
        // The last line may be one that a crash has cut short.
        let mut lines = b"\n".to_vec();
        for record in records {
            lines.extend_from_slice(record);
            lines.push(b'\n');
        }
        self.0.write_all(&lines)?;
        self.0.sync_data()
    }
}

/// Hands all records of these files to `take`. Lines that were cut short are left out:
/// their records are in Redis.
///
/// # Errors
/// The system's, and those of `take`.
pub(crate) fn read(
    paths: &[PathBuf],
    mut take: impl FnMut(JournalEntry<'_>) -> io::Result<()>,
) -> io::Result<()> {
    for path in paths {
        let with_path = |error| io::Error::other(format!("{}: {error}", path.display()));
        let mut file = BufReader::new(File::open(path).map_err(with_path)?);
        let mut line = Vec::new();
        while file.read_until(b'\n', &mut line)? > 0 {
            if let Ok(entry) = serde_json::from_slice(&line) {
                take(entry)?;
            }
            line.clear();
        }
    }
    Ok(())
}
