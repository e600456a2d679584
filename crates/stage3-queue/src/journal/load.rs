//! The reader of journals: checks the records of earlier runs, cuts off one that
//! was half written, and replays them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crawl_core::{Crawl, Job, JournalEntry, Row};
use serde_json::{Map, Value};

use super::{record, settings};

/// First line of every journal.
pub(super) const FIRST_LINE: &str = "crawl journal, format 2\n";
/// Prefix of that line in every format, later ones included.
const ANY_FORMAT: &[u8] = b"crawl journal, format ";
/// Limit on the length of the first line, in bytes: a file that is not a journal may
/// be one line of many gigabytes.
const MAX_FIRST_LINE: u64 = 64;

/// The records of earlier runs. They are read one by one, and twice: first to
/// check that they are whole, since a damaged journal is refused before its first
/// row, and then to replay them.
pub(crate) struct LoadedJournal {
    path: PathBuf,
    reader: BufReader<File>,
    /// Line that was read last.
    line: Vec<u8>,
    /// Offset of the first finished URL.
    pub(super) begin: u64,
    has_records: bool,
    /// Length of an incomplete record at the end (a torn write), in bytes.
    torn: u64,
}

/// Result of reading the head of the file: its first line and the options.
pub(super) enum Head {
    Valid,
    /// There is nothing to resume from.
    Missing,
}

impl LoadedJournal {
    pub(super) fn new(path: &Path, file: File) -> Self {
        let (path, reader) = (path.to_owned(), BufReader::new(file));
        Self { path, reader, line: Vec::new(), begin: 0, has_records: false, torn: 0 }
    }

    /// Reads the head, up to the first finished URL.
    ///
    /// # Errors
    /// When a crawl with these settings cannot resume from this file; with
    /// `is_fresh`, only when the file is not a journal at all.
    pub(super) fn read_head(
        &mut self,
        current: &Map<String, Value>,
        is_fresh: bool,
    ) -> io::Result<Head> {
        self.reader.by_ref().take(MAX_FIRST_LINE).read_until(b'\n', &mut self.line)?;
        let first_line = FIRST_LINE.as_bytes();
        if self.line != first_line && first_line.starts_with(&self.line) {
            // Empty, or the process was killed while it wrote the first line.
            return Ok(Head::Missing);
        }
        let Some(format) = self.line.strip_prefix(ANY_FORMAT) else {
            return Err(io::Error::new(ErrorKind::InvalidData, "this is not a journal of a crawl"));
        };
        if is_fresh {
            return Ok(Head::Missing);
        }
        if self.line != first_line {
            let format = String::from_utf8_lossy(format.trim_ascii_end());
            let message = format!(
                "another version of crawl wrote it, in format {format} (--fresh to crawl again)"
            );
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        self.begin = self.line.len() as u64;
        let Some(json) = self.next()? else {
            return if self.is_at_end()? { Ok(Head::Missing) } else { Err(damaged(2)) };
        };
        let recorded: Map<String, Value> = serde_json::from_slice(json)?;
        if let Some(differences) = settings::differences(&recorded, current) {
            let message = format!("it was started with other settings: {differences}");
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        }
        self.begin += self.line.len() as u64;
        Ok(Head::Valid)
    }

    /// Reads to the end of the last whole record, and returns its offset.
    ///
    /// # Errors
    /// When the file is damaged in any other way than a last record cut short.
    pub(super) fn check(&mut self) -> io::Result<u64> {
        let mut end = self.begin;
        let mut number = 3;
        while self.next()?.is_some() {
            end += self.line.len() as u64;
            number += 1;
        }
        self.has_records = end > self.begin;
        if self.line.len() as u64 > record::MAX_BYTES {
            let message = format!("line {number} has more than {} bytes", record::MAX_BYTES);
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        if !self.is_at_end()? {
            return Err(damaged(number));
        }
        self.torn = self.line.len() as u64;
        Ok(end)
    }

    /// Returns true if an earlier run has finished a URL.
    pub(crate) fn has_records(&self) -> bool {
        self.has_records
    }

    /// Replays the records: brings the crawl to the state at the end of the
    /// journal, hands the rows to `sink`, and returns the jobs that are left to do,
    /// in the order in which they were found.
    ///
    /// # Errors
    /// When the file cannot be read, or was edited by hand.
    pub(crate) fn replay(
        mut self,
        crawl: &mut Crawl,
        roots: Vec<Job>,
        sink: &mut dyn FnMut(Row),
        warn: &mut dyn FnMut(&str),
    ) -> io::Result<Vec<Job>> {
        if self.torn > 0 {
            let (path, torn) = (self.path.display(), self.torn);
            warn(&format!(
                "the journal {path} ended within a record; its last {torn} bytes were removed"
            ));
        }
        let mut todo = Todo::default();
        todo.extend(roots);
        let replayed = self.replay_entries(crawl, &mut todo, sink);
        replayed.map_err(|error| record::with_path(&self.path, &error))?;
        Ok(todo.in_order())
    }

    fn replay_entries(
        &mut self,
        crawl: &mut Crawl,
        todo: &mut Todo,
        sink: &mut dyn FnMut(Row),
    ) -> io::Result<()> {
        self.reader.seek(SeekFrom::Start(self.begin))?;
        while let Some(json) = self.next()? {
            let entry: JournalEntry<'_> = serde_json::from_slice(json)?;
            if crawl.has_settled(&entry.row.url) {
                // A URL ends as one row, even if a file was put together by hand.
                continue;
            }
            let mut completion = crawl.replay(entry);
            todo.jobs.remove(&completion.row.url);
            todo.extend(mem::take(&mut completion.jobs));
            completion.rows().for_each(&mut *sink);
        }
        Ok(())
    }

    /// Reads the next line and returns its record; `None` at the end of the file
    /// or if the line is not a whole record.
    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        let mut limited = self.reader.by_ref().take(record::MAX_BYTES + 1);
        limited.read_until(b'\n', &mut self.line)?;
        Ok(record::read(&self.line))
    }

    fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(self.reader.fill_buf()?.is_empty())
    }
}

fn damaged(line: u64) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("line {line} is damaged"))
}

/// Jobs that were found and are not finished.
#[derive(Default)]
struct Todo {
    /// Number of jobs found so far, which gives the order.
    num_found: u64,
    jobs: HashMap<Arc<str>, (u64, Job)>,
}

impl Todo {
    fn extend(&mut self, jobs: Vec<Job>) {
        for job in jobs {
            self.jobs.insert(Arc::clone(&job.url), (self.num_found, job));
            self.num_found += 1;
        }
    }

    fn in_order(self) -> Vec<Job> {
        let mut jobs: Vec<_> = self.jobs.into_values().collect();
        jobs.sort_unstable_by_key(|&(found, _)| found);
        jobs.into_iter().map(|(_, job)| job).collect()
    }
}
