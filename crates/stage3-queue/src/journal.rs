//! The journal: the state of a crawl on disk, from which it resumes after it was
//! killed.
//!
//! A journal is an append-only text file: each finished URL is a checkpoint. The
//! first line names the format, and each line after it is a record: a checksum, a
//! space, and a JSON object without line breaks. The first record holds the
//! [settings](crawl_core::Settings) that decide which URLs are found. Every other record holds a finished
//! URL: its row, and the URLs that it has led to. One record is one write, made
//! before the row is handed to the sink; so at no moment is a row
//! lost, or known without the URLs that it led to.
//!
//! ```text
//! crawl journal, format 2
//! 8e49ed2f {"--check":[],"--exclude":[],...,"URL":["http://example.com/"],...}
//! 0c60a7d1 {"row":{"url":"http://example.com/","status":200,...},"redirects_left":10,"leads":[{"to":"/about"},...]}
//! ```
//!
//! Records are handed to the operating system and not synced (no `fsync`): the
//! journal survives the end of the process, and a power failure except for the
//! last moments before it.

mod load;
mod record;
mod settings;

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crawl_core::{Completion, Job, JournalEntry, Options};

use self::load::Head;
pub(crate) use self::load::LoadedJournal;

/// A journal being written.
pub(crate) struct Journal {
    path: PathBuf,
    /// Locked until it is closed, so that no other process writes to it.
    file: File,
    /// Buffer for the record being written, used again for the next one.
    record: Vec<u8>,
    has_failed: bool,
}

impl Journal {
    /// Opens a journal, or begins one, and returns the records that it holds.
    ///
    /// # Errors
    /// See [`Builder::run_on`](crate::Builder::run_on).
    pub(crate) fn open(
        path: PathBuf,
        is_fresh: bool,
        options: &Options,
    ) -> io::Result<(Self, LoadedJournal)> {
        let file = open_locked(&path).map_err(|error| record::with_path(&path, &error))?;
        let mut journal = Self { path, file, record: Vec::new(), has_failed: false };
        let loaded = journal
            .load(is_fresh, options)
            .map_err(|error| record::with_path(&journal.path, &error))?;
        Ok((journal, loaded))
    }

    /// Reads the head of the file and checks its records, or begins it.
    fn load(&mut self, is_fresh: bool, options: &Options) -> io::Result<LoadedJournal> {
        let settings = settings::of(&options.settings)?;
        let mut loaded = LoadedJournal::new(&self.path, self.file.try_clone()?);
        match loaded.read_head(&settings, is_fresh)? {
            Head::Valid => {
                self.file.set_len(loaded.check()?)?;
            }
            Head::Missing => {
                let mut head = Vec::new();
                record::write(&settings, &mut head)?;
                if head.len() as u64 > record::MAX_BYTES {
                    // It could not be read again.
                    let max = record::MAX_BYTES;
                    let message =
                        format!("the start URLs and other settings have more than {max} bytes");
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
                }
                head.splice(..0, load::FIRST_LINE.bytes());
                self.file.set_len(0)?;
                self.file.write_all(&head)?;
                loaded.begin = head.len() as u64;
            }
        }
        Ok(loaded)
    }

    /// Returns the warning for a user who resumes a crawl that was already done.
    pub(crate) fn nothing_left_warning(&self) -> String {
        let path = self.path.display();
        format!("{path} is complete; showing its results (--fresh to crawl again)")
    }

    /// Appends the record of a finished URL. One that is longer than a reader takes is
    /// not written: a resumed crawl requests its URL again.
    ///
    /// # Errors
    /// Those of the file, with its name. After an error, nothing more is written:
    /// a journal with an incomplete record in the middle could not be read.
    pub(crate) fn append(&mut self, job: &Job, completion: &Completion) -> io::Result<()> {
        if self.has_failed {
            return Err(io::Error::other("the journal could not be written"));
        }
        let entry = JournalEntry {
            row: Cow::Borrowed(&completion.row),
            purpose: job.purpose,
            redirects_left: job.redirects_left,
            out_links: Cow::Borrowed(&completion.out_links),
            ids: Cow::Borrowed(&completion.ids),
            content: completion.content,
            sets_cookie: completion.sets_cookie,
            lacks: Cow::Borrowed(&completion.lacks),
        };
        let mut written = record::write(&entry, &mut self.record);
        if self.record.len() as u64 > record::MAX_BYTES {
            self.record = Vec::new();
        } else {
            written = written.and_then(|()| self.file.write_all(&self.record));
        }
        self.has_failed = written.is_err();
        written.map_err(|error| record::with_path(&self.path, &error))
    }
}

impl Drop for Journal {
    /// Unlocks the file. Closing it is not enough: a child process that is being
    /// started at this moment has inherited the open file, and the lock with it.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

fn special_file() -> io::Error {
    io::Error::other("this is not a regular file")
}

/// Opens the file, creates it if there is none, and locks it.
fn open_locked(path: &Path) -> io::Result<File> {
    // Tested before it is opened, too: to open a pipe or a device may do something.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(special_file());
    }
    let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(special_file());
    }
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => {
            io::Error::new(io::ErrorKind::ResourceBusy, "another crawl is using it")
        }
        TryLockError::Error(error) => error,
    })?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use crawl_core::Settings;
    use test_support::settings::{by_name, changed, with_one_changed};

    use super::*;

    fn options(settings: Settings) -> Options {
        let mut options = Options::new(Vec::new());
        options.settings = settings;
        options
    }

    /// Each setting either must be the same when a crawl is resumed, or may differ. What may
    /// differ is not kept: it may be a secret.
    #[test]
    fn every_setting_must_be_the_same_or_may_differ() {
        let path = env::temp_dir().join(format!("crawl-journal-{}", process::id()));
        let open = |is_fresh, settings| {
            let opened = Journal::open(path.clone(), is_fresh, &options(settings));
            opened.map(drop).map_err(|error| error.to_string())
        };
        open(true, Settings::new(Vec::new())).unwrap();
        let mut may_differ = Vec::new();
        let names = by_name(&changed()).into_iter().map(|(name, _)| name);
        for name in names {
            match open(false, with_one_changed(&name)) {
                Ok(()) => may_differ.push(name),
                Err(error) => assert!(error.contains(&format!(" {name} was ")), "{error}"),
            }
        }
        open(true, changed()).unwrap();
        open(false, changed()).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(
            may_differ,
            [
                "--accept",
                "--connect-timeout",
                "--delay",
                "--external-rate",
                "--header",
                "--max-body-size",
                "--max-tries",
                "--max-wait",
                "--rate-limit",
                "--read-timeout",
                "--timeout",
                "--user-agent",
            ]
        );
    }
}
