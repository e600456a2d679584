//! What a journal has to tell.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crawl_core::{Conclusion, Crawl, Finished, Job, Sink};
use serde_json::{Map, Value};

use super::{record, settings};

/// What every journal begins with.
pub(super) const FIRST_LINE: &str = "crawl journal, format 1\n";
/// What it will begin with in times to come.
const ANY_FORMAT: &[u8] = b"crawl journal, format ";
/// A file that is no journal may be one line of many gigabytes.
const MOST_OF_FIRST_LINE: u64 = 64;

/// The records of earlier runs. They are read one by one, and twice: once to
/// see whether they are whole, since nothing is told of a journal that is not,
/// and once for what they say.
pub(crate) struct Past {
    path: PathBuf,
    reader: BufReader<File>,
    /// The line that was read last.
    line: Vec<u8>,
    /// Where the first finished URL is.
    pub(super) begin: u64,
    /// How many bytes at the end were no whole record.
    torn: u64,
}

pub(super) enum Head {
    Ours,
    /// There is nothing to go on from.
    Missing,
}

impl Past {
    pub(super) fn new(path: &Path, file: File) -> Self {
        let (path, reader) = (path.to_owned(), BufReader::new(file));
        Self { path, reader, line: Vec::new(), begin: 0, torn: 0 }
    }

    /// Reads as far as the first finished URL.
    ///
    /// # Errors
    /// When this is no journal that a crawl with these settings can go on
    /// from; if it is to begin anew, when it is none at all.
    pub(super) fn read_head(
        &mut self,
        now: &Map<String, Value>,
        is_fresh: bool,
    ) -> io::Result<Head> {
        self.reader.by_ref().take(MOST_OF_FIRST_LINE).read_until(b'\n', &mut self.line)?;
        let first_line = FIRST_LINE.as_bytes();
        if self.line != first_line && first_line.starts_with(&self.line) {
            // Empty, or killed at its birth.
            return Ok(Head::Missing);
        }
        let Some(format) = self.line.strip_prefix(ANY_FORMAT) else {
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                "this file is no journal of a crawl",
            ));
        };
        if is_fresh {
            return Ok(Head::Missing);
        }
        if self.line != first_line {
            let format = String::from_utf8_lossy(format.trim_ascii_end());
            let message = format!("it is of format {format}, of which this version knows nothing");
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        self.begin = self.line.len() as u64;
        let Some(json) = self.next()? else {
            return if self.is_at_end()? { Ok(Head::Missing) } else { Err(damaged(2)) };
        };
        let then: Map<String, Value> = serde_json::from_slice(json)?;
        if let Some(differences) = settings::differences(&then, now) {
            let message = format!("it was begun with other options: {differences}");
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        }
        self.begin += self.line.len() as u64;
        Ok(Head::Ours)
    }

    /// Reads to the end of the last whole record, and returns where that is.
    ///
    /// # Errors
    /// When there is anything but a last record cut short.
    pub(super) fn check(&mut self) -> io::Result<u64> {
        let mut end = self.begin;
        let mut number = 3;
        while self.next()?.is_some() {
            end += self.line.len() as u64;
            number += 1;
        }
        if !self.is_at_end()? {
            return Err(damaged(number));
        }
        self.torn = self.line.len() as u64;
        Ok(end)
    }

    /// Has the crawl catch up with the journal, tells `sink` the rows, and
    /// returns the jobs that are left, in the order in which they were found.
    ///
    /// # Errors
    /// When the file cannot be read, or somebody has changed it by hand.
    pub(crate) fn replay(
        mut self,
        crawl: &mut Crawl,
        roots: Vec<Job>,
        sink: &mut Sink,
        warn: &mut dyn FnMut(&str),
    ) -> io::Result<Vec<Job>> {
        if self.torn > 0 {
            let (path, torn) = (self.path.display(), self.torn);
            warn(&format!("the journal {path} ended within a record; {torn} bytes were cut off"));
        }
        let mut todo = Todo::default();
        todo.extend(roots);
        let replayed = self.finish_all(crawl, &mut todo, sink);
        replayed.map_err(|error| super::name(&self.path, &error))?;
        Ok(todo.in_order())
    }

    fn finish_all(
        &mut self,
        crawl: &mut Crawl,
        todo: &mut Todo,
        sink: &mut Sink,
    ) -> io::Result<()> {
        self.reader.seek(SeekFrom::Start(self.begin))?;
        while let Some(json) = self.next()? {
            let finished: Finished<'_> = serde_json::from_slice(json)?;
            let Conclusion { row, others, jobs, .. } = crawl.replay(finished);
            todo.jobs.remove(&row.url);
            todo.extend(jobs);
            others.into_iter().chain([row]).for_each(&mut *sink);
        }
        Ok(())
    }

    /// The next record; `None` where there is none, and then what is there
    /// instead has been read, if anything.
    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        self.reader.read_until(b'\n', &mut self.line)?;
        Ok(record::read(&self.line))
    }

    fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(self.reader.fill_buf()?.is_empty())
    }
}

fn damaged(line: u64) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("line {line} is damaged"))
}

/// What was found and is not finished.
#[derive(Default)]
struct Todo {
    found: u64,
    jobs: HashMap<Arc<str>, (u64, Job)>,
}

impl Todo {
    fn extend(&mut self, jobs: Vec<Job>) {
        for job in jobs {
            self.jobs.insert(Arc::clone(&job.url), (self.found, job));
            self.found += 1;
        }
    }

    fn in_order(self) -> Vec<Job> {
        let mut jobs: Vec<_> = self.jobs.into_values().collect();
        jobs.sort_unstable_by_key(|&(found, _)| found);
        jobs.into_iter().map(|(_, job)| job).collect()
    }
}
