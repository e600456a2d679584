//! What a crawl that was killed goes on from.
//!
//! A journal is a text file that only ever grows. Its first line names the
//! format, and each line after it is a record: a checksum, a space, and a JSON
//! object without line breaks. The first record has the options that decide
//! which URLs are found, every other one a finished URL: its row, and what it
//! has led to. One record is one write, made before the row is told to
//! anybody; so there is no moment at which a row is lost, or known without the
//! URLs it has led to.
//!
//! ```text
//! crawl journal, format 1
//! 8e49ed2f {"--exclude":[],...,"URL":["http://example.com/"]}
//! 0c60a7d1 {"row":{"url":"http://example.com/","status":200,...},"redirects_left":10,"leads":[{"to":"/about"},...]}
//! ```
//!
//! It is handed to the system and not forced on to the disk: it outlives the
//! process, and a power failure but for its last moments.

mod past;
mod record;
mod settings;

use std::borrow::Cow;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crawl_core::{Conclusion, Finished, Job, Options};

use self::past::Head;
pub(crate) use self::past::Past;

/// A journal being written.
pub(crate) struct Journal {
    path: PathBuf,
    /// Locked, so that nobody else can write to it, until it is closed.
    file: File,
    /// The record being made; what it has allocated is used again.
    line: Vec<u8>,
    has_failed: bool,
}

impl Journal {
    /// Opens a journal, or begins one, and returns what it has.
    ///
    /// # Errors
    /// See [`Builder::run_on`](crate::Builder::run_on).
    pub(crate) fn open(
        path: PathBuf,
        is_fresh: bool,
        options: &Options,
    ) -> io::Result<(Self, Past)> {
        let (file, past) = open(&path, is_fresh, options).map_err(|error| name(&path, &error))?;
        Ok((Self { path, file, line: Vec::new(), has_failed: false }, past))
    }

    /// What to say to a user who goes on with a crawl that was done.
    pub(crate) fn nothing_left(&self) -> String {
        let path = self.path.display();
        format!(
            "the journal {path} has nothing left to do: what was found then is told again \
             (--fresh begins anew)"
        )
    }

    /// Writes down what became of a URL.
    ///
    /// # Errors
    /// Those of the file, with its name. After one of them, nothing more is
    /// written: a record in the middle that was cut short would not be read.
    pub(crate) fn append(&mut self, job: &Job, conclusion: &Conclusion) -> io::Result<()> {
        if self.has_failed {
            return Err(io::Error::other("the journal could not be written"));
        }
        let finished = Finished {
            row: Cow::Borrowed(&conclusion.row),
            purpose: job.purpose,
            redirects_left: job.redirects_left,
            leads: Cow::Borrowed(&conclusion.leads),
            ids: Cow::Borrowed(&conclusion.ids),
        };
        let written =
            record::write(&finished, &mut self.line).and_then(|()| self.file.write_all(&self.line));
        self.has_failed = written.is_err();
        written.map_err(|error| name(&self.path, &error))
    }
}

impl Drop for Journal {
    /// Closing the file is not enough: a child that this process is starting
    /// at the moment has it open, too, and the lock with it.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

fn name(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the journal {}: {error}", path.display()))
}

fn open(path: &Path, is_fresh: bool, options: &Options) -> io::Result<(File, Past)> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("this is no ordinary file"));
    }
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => {
            io::Error::new(io::ErrorKind::ResourceBusy, "another crawl is using it")
        }
        TryLockError::Error(error) => error,
    })?;
    let settings = settings::of(options);
    let mut past = Past::new(path, file.try_clone()?);
    match past.read_head(&settings, is_fresh)? {
        Head::Ours => {
            file.set_len(past.check()?)?;
        }
        Head::Missing => {
            let mut head = Vec::new();
            record::write(&settings, &mut head)?;
            head.splice(..0, past::FIRST_LINE.bytes());
            file.set_len(0)?;
            file.write_all(&head)?;
            past.begin = head.len() as u64;
        }
    }
    Ok((file, past))
}
