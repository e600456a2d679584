//! The journal in files: records that are old enough are moved there, so that Redis need
//! not have room for all of them.
//!
//! The first line names the crawl, each other one is a record in JSON. A record is in the
//! file, and synced, before it is taken out of Redis, so a crash leaves a record in both at
//! worst. Readers take the first record of each URL.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use crawl_core::JournalEntry;

/// Limit on the length of a line in bytes: a damaged file may be one line of many
/// gigabytes.
const MAX_LINE: u64 = 64 << 20;

/// A file that records are moved to. It is locked: no other worker writes to it.
pub(crate) struct JournalFile(File);

impl JournalFile {
    /// Opens the file of the crawl with this first line, or creates it.
    ///
    /// # Errors
    /// The system's; when the file is not an ordinary one, is not of this crawl, or another
    /// worker has it.
    pub(crate) fn open(path: &Path, first_line: &str) -> io::Result<Self> {
        open_locked(path)
            .map(Self)
            .and_then(|mut file| file.begin(first_line).map(|()| file))
            .map_err(|error| with_path(path, &error))
    }

    /// Checks the first line, or writes it to a file that is empty.
    fn begin(&mut self, first_line: &str) -> io::Result<()> {
        if self.0.metadata()?.len() == 0 {
            self.0.write_all(first_line.as_bytes())
        } else {
            check_first_line(&mut BufReader::new(&self.0), first_line)
        }
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

impl Drop for JournalFile {
    /// Unlocks the file. Closing it is not enough: a child process that is being
    /// started at this moment has inherited the open file, and the lock with it.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Opens the file, creates it if there is none, and locks it.
fn open_locked(path: &Path) -> io::Result<File> {
    check_is_ordinary(path)?;
    let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => {
            io::Error::new(io::ErrorKind::ResourceBusy, "another worker is using it")
        }
        TryLockError::Error(error) => error,
    })?;
    Ok(file)
}

/// Hands all records of the files of a crawl to `take`. Lines that were cut short are left
/// out: their records are in Redis.
///
/// # Errors
/// The system's, those of `take`, and when a file is not of this crawl.
pub(crate) fn read(
    paths: &[PathBuf],
    first_line: &str,
    mut take: impl FnMut(JournalEntry<'_>) -> io::Result<()>,
) -> io::Result<()> {
    for path in paths {
        read_one(path, first_line, &mut take).map_err(|error| with_path(path, &error))?;
    }
    Ok(())
}

fn read_one(
    path: &Path,
    first_line: &str,
    take: &mut impl FnMut(JournalEntry<'_>) -> io::Result<()>,
) -> io::Result<()> {
    check_is_ordinary(path)?;
    let mut file = BufReader::new(File::open(path)?);
    check_first_line(&mut file, first_line)?;
    let mut line = Vec::new();
    while (&mut file).take(MAX_LINE).read_until(b'\n', &mut line)? > 0 {
        if let Ok(entry) = serde_json::from_slice(&line) {
            take(entry)?;
        }
        line.clear();
    }
    Ok(())
}

/// Refuses pipes and devices: to open one may do something, and it may not end.
fn check_is_ordinary(path: &Path) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::other("this is not a regular file"));
    }
    Ok(())
}

/// Reads the first line, and compares it.
fn check_first_line(file: &mut impl BufRead, first_line: &str) -> io::Result<()> {
    let mut found = Vec::new();
    file.take(first_line.len() as u64).read_to_end(&mut found)?;
    if found != first_line.as_bytes() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "this is not a journal of this crawl",
        ));
    }
    Ok(())
}

fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the journal {}: {error}", path.display()))
}
