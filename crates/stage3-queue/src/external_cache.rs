//! The cache of external results: URLs of other sites that were fine, or blocked, in an
//! earlier crawl, and need not be requested again for some days.
//!
//! Dead and unsure ones are not kept, so that a link is fine as soon as it is mended.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::ErrorKind::{self, PermissionDenied, ReadOnlyFilesystem, ResourceBusy, Unsupported};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crawl_core::{ExternalVerdict, FetchError, Finished, Job, Outcome, Purpose, Row};
use serde::{Deserialize, Serialize};

/// First line of the file.
const HEADER: &str = "{\"crawl_external_cache\":1}";

/// Limit on the URLs that are kept: the latest ones.
const MAX_URLS: usize = 100_000;

/// Limit on the size of the file, in bytes.
const MAX_FILE_SIZE: u64 = 256 << 20;

/// Limit on the length of a URL that is kept, the target of its redirect and its content type
/// together, in bytes.
const MAX_URL_LEN: usize = 2_000;

/// A cache, read from a file.
pub(crate) struct ExternalCache {
    path: PathBuf,
    max_age: Duration,
    now: u64,
    entries: HashMap<Box<str>, Entry>,
}

/// The result for one URL.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    /// Time of the request, in seconds since 1970.
    checked: u64,
    status: Option<u16>,
    outcome: Outcome,
    next_url: Option<String>,
    error: Option<FetchError>,
    verdict: Option<ExternalVerdict>,
    content_type: Option<String>,
}

/// A line of the file after the first.
#[derive(Serialize, Deserialize)]
struct Line<U> {
    url: U,
    #[serde(flatten)]
    entry: Entry,
}

impl ExternalCache {
    /// Reads a cache; a file that does not exist is an empty one. Lines that are wrong,
    /// such as the last one of a file that was cut, and entries that are older than
    /// `max_age` are left out.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a cache. Then it is not changed.
    pub(crate) fn open(path: &Path, max_age: Duration) -> io::Result<Self> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_secs());
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("the cache {}: {error}", path.display()))
        };
        // Behind a link, the file is replaced and not the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut cache = Self { path, max_age, now, entries: HashMap::new() };
        cache.read().map_err(named)?;
        Ok(cache)
    }

    fn read(&mut self) -> io::Result<()> {
        let foreign = || io::Error::new(ErrorKind::InvalidData, "this is not a cache of crawl");
        // To open a pipe would wait for its other end.
        let metadata = match self.path.metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Better said now than at the end.
                return self.folder().metadata().map(drop);
            }
            metadata => metadata?,
        };
        if !metadata.is_file() {
            return Err(foreign());
        }
        if metadata.len() > MAX_FILE_SIZE {
            let message = format!("it has more than {MAX_FILE_SIZE} bytes");
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        let mut lines = BufReader::new(File::open(&self.path)?).split(b'\n');
        match lines.next().transpose()? {
            None => return Ok(()),
            Some(first) if first != HEADER.as_bytes() => return Err(foreign()),
            Some(_) => {}
        }
        for line in lines {
            let Ok(Line { url, entry }) = serde_json::from_slice::<Line<Box<str>>>(&line?) else {
                continue;
            };
            if self.is_fresh(&entry) {
                self.entries.insert(url, entry);
            }
        }
        Ok(())
    }

    fn folder(&self) -> &Path {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new("."))
    }

    /// Returns true if an entry is not too old. One from the future says nothing.
    fn is_fresh(&self, entry: &Entry) -> bool {
        let age = self.now.checked_sub(entry.checked);
        age.is_some_and(|age| Duration::from_secs(age) < self.max_age)
    }

    /// Returns the result of a job, if it is for an external URL that is known. A redirect that
    /// the job may not follow any more would have another result.
    pub(crate) fn get(&self, job: &Job) -> Option<Finished> {
        if job.purpose != Purpose::External {
            return None;
        }
        let entry = self.entries.get(&*job.url)?;
        if entry.outcome == Outcome::Redirect && job.redirects_left == 0 {
            return None;
        }
        let Entry { status, outcome, next_url, error, verdict, content_type, .. } = entry.clone();
        Finished::of_earlier_crawl(job, |row| Row {
            status,
            outcome,
            next_url,
            error,
            verdict,
            content_type,
            ..row
        })
    }

    /// Remembers the row of a URL that was requested, or forgets what was known of it.
    pub(crate) fn remember(&mut self, job: &Job, row: &Row) {
        if job.purpose != Purpose::External || row.tries == 0 {
            return;
        }
        let is_known = match row.verdict {
            None => matches!(row.outcome, Outcome::Page | Outcome::Other | Outcome::Redirect),
            Some(verdict) => verdict == ExternalVerdict::Blocked,
        };
        let len = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let length = row.url.len() + len(&row.next_url) + len(&row.content_type);
        if !is_known || length > MAX_URL_LEN {
            self.entries.remove(&*row.url);
            return;
        }
        let entry = Entry {
            checked: self.now,
            status: row.status,
            outcome: row.outcome,
            next_url: row.next_url.clone(),
            error: row.error.clone(),
            verdict: row.verdict,
            content_type: row.content_type.clone(),
        };
        self.entries.insert((&*row.url).into(), entry);
    }

    /// Writes the file: first another one beside it, which then replaces it at once. It keeps
    /// its permissions. One that cannot be replaced, since its folder is closed or it is
    /// mounted, is written in place.
    ///
    /// # Errors
    /// When that fails. The file is as it was then, unless it was written in place.
    pub(crate) fn save(&self) -> io::Result<()> {
        self.save_by(|beside, path| fs::rename(beside, path))
    }

    /// Writes the file, and moves it to its place in this way.
    fn save_by(&self, rename: impl FnOnce(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
        let mut entries: Vec<_> = self.entries.iter().map(|(url, entry)| (&**url, entry)).collect();
        entries.sort_unstable_by(|a, b| b.1.checked.cmp(&a.1.checked).then(a.0.cmp(b.0)));
        entries.truncate(MAX_URLS);
        let mut beside = self.path.clone().into_os_string();
        beside.push(format!(".{}.part", std::process::id()));
        let before = self.path.metadata().ok();
        let written = File::create(&beside).and_then(|file| {
            before.as_ref().map_or(Ok(()), |before| file.set_permissions(before.permissions()))?;
            write(file, &entries, MAX_FILE_SIZE)
        });
        let replaced = written.and_then(|()| rename(beside.as_ref(), &self.path));
        let Err(error) = replaced else { return Ok(()) };
        // What is left of it is of no use.
        let _ = fs::remove_file(&beside);
        match error.kind() {
            PermissionDenied | ResourceBusy | ReadOnlyFilesystem | Unsupported
                if before.is_some() =>
            {
                write(File::create(&self.path)?, &entries, MAX_FILE_SIZE)
            }
            _ => Err(error),
        }
    }
}

/// Writes as many entries as fit into a file of `max_len` bytes.
fn write(file: File, entries: &[(&str, &Entry)], max_len: u64) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    let mut line = HEADER.to_owned() + "\n";
    let (mut entries, mut left) = (entries.iter(), max_len);
    while let Some(rest) = left.checked_sub(line.len() as u64) {
        left = rest;
        file.write_all(line.as_bytes())?;
        let Some((url, entry)) = entries.next() else { break };
        line = serde_json::to_string(&Line { url, entry: (*entry).clone() })? + "\n";
    }
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a file system may be that has no way to rename.
    #[test]
    fn a_file_that_cannot_be_replaced_is_written_in_place() {
        let path = std::env::temp_dir().join(format!("cache-in-place-{}", std::process::id()));
        for kind in [PermissionDenied, ReadOnlyFilesystem, ResourceBusy, Unsupported] {
            fs::write(&path, "").unwrap();
            let cache = ExternalCache::open(&path, Duration::from_secs(1)).unwrap();
            cache.save_by(|_, _| Err(kind.into())).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap().trim_end(), HEADER, "{kind}");
        }
        fs::remove_file(path).unwrap();
    }

    /// A file that is too long could not be read again.
    #[test]
    fn the_file_has_a_limit() {
        let path = std::env::temp_dir().join(format!("cache-{}", std::process::id()));
        let entry = Entry {
            checked: 1,
            status: Some(200),
            outcome: Outcome::Other,
            next_url: None,
            error: None,
            verdict: None,
            content_type: None,
        };
        let url = "http://a.test/\\".to_owned();
        write(File::create(&path).unwrap(), &vec![(&*url, &entry); 100], 1_000).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::remove_file(path).unwrap();
        assert!((800..=1_000).contains(&text.len()), "{}", text.len());
        assert!(text.starts_with(HEADER) && text.ends_with("}\n"), "{text}");
    }
}
