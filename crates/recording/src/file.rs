//! The file of a record: a line that says what it is, a header, and the entries,
//! compressed.

use std::fmt;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};

use crate::entry::Entry;

/// The beginning of the first line. The version of the format follows.
const MAGIC: &str = "fourways-record ";
/// The version of the format. It changes with every change that breaks readers.
const VERSION: u32 = 1;
/// The limit on the entries of a record, in bytes before they are compressed.
const LIMIT: u64 = 256 * 1024 * 1024;
/// The limit on the first two lines, in bytes.
const MAX_HEADER: u64 = 1024 * 1024;

/// The description of the recorded run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Header {
    /// The program and its version.
    pub program: String,
    /// The arguments of its command line, without secrets.
    pub arguments: Vec<String>,
    /// The seed of the crawl.
    pub seed: u64,
    /// True if secrets were kept.
    pub has_secrets: bool,
}

/// A record that was read.
#[derive(Debug)]
pub struct Record {
    /// The description of the run.
    pub header: Header,
    pub(crate) entries: Vec<u8>,
}

/// The reason why a file cannot be replayed.
#[derive(Debug)]
pub enum FileError {
    /// It cannot be read.
    Io(io::Error),
    /// It is no record.
    Foreign,
    /// It is of a version that this program does not know.
    Version(u32),
    /// It ends too early, or is damaged.
    Cut,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "it cannot be read: {error}"),
            Self::Foreign => write!(f, "it is not a record of a crawl"),
            Self::Version(version) => {
                write!(f, "it has version {version}, and this program reads only version {VERSION}")
            }
            Self::Cut => write!(f, "it is cut off or damaged"),
        }
    }
}

impl std::error::Error for FileError {}

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// When the file cannot be read, or is no whole record of this version.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let mut file = BufReader::new(File::open(path).map_err(FileError::Io)?);
        let mut line = String::new();
        let mut head = file.by_ref().take(MAX_HEADER);
        // What is no text is no record.
        head.read_line(&mut line).map_err(|_| FileError::Foreign)?;
        let version = line.strip_prefix(MAGIC).ok_or(FileError::Foreign)?;
        let version = version.trim_end().parse().map_err(|_| FileError::Foreign)?;
        if version != VERSION {
            return Err(FileError::Version(version));
        }
        line.clear();
        head.read_line(&mut line).map_err(|_| FileError::Cut)?;
        let header = serde_json::from_str(&line).map_err(|_| FileError::Cut)?;
        let mut entries = Vec::new();
        let mut decoder = ZlibDecoder::new(file).take(LIMIT + MAX_HEADER);
        decoder.read_to_end(&mut entries).map_err(|_| FileError::Cut)?;
        let last = postcard::to_stdvec(&Entry::End).map_err(|_| FileError::Cut)?;
        if !entries.ends_with(&last) || decoder.limit() == 0 {
            return Err(FileError::Cut);
        }
        Ok(Self { header, entries })
    }
}

/// A record that is being written.
pub(crate) struct Log {
    out: ZlibEncoder<BufWriter<File>>,
    written: u64,
    /// The most bytes before they are compressed.
    limit: u64,
    is_full: bool,
    /// The first error of writing; nothing is written after it.
    error: Option<io::Error>,
}

impl Log {
    pub(crate) fn create(path: &Path, header: &Header) -> io::Result<Self> {
        let text = format!("{MAGIC}{VERSION}\n{}\n", serde_json::to_string(header)?);
        if text.len() as u64 > MAX_HEADER {
            let problem = "the arguments of the crawl are too long for a record: more than 1 MiB";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let file = if header.has_secrets { create_private(path) } else { File::create(path) }?;
        let mut file = BufWriter::new(file);
        file.write_all(text.as_bytes())?;
        let out = ZlibEncoder::new(file, Compression::fast());
        Ok(Self { out, written: 0, limit: LIMIT, is_full: false, error: None })
    }

    pub(crate) fn add(&mut self, entry: &Entry) {
        if self.is_full || self.error.is_some() {
            return;
        }
        self.is_full = self.written > self.limit;
        let entry = if self.is_full { &Entry::Full } else { entry };
        let written = postcard::to_stdvec(entry).map_err(io::Error::other).and_then(|bytes| {
            self.written += bytes.len() as u64;
            self.out.write_all(&bytes)
        });
        self.error = written.err();
    }

    /// Ends the file. Returns false if it had no room for all entries.
    pub(crate) fn finish(mut self) -> io::Result<bool> {
        let is_whole = !self.is_full;
        (self.is_full, self.limit) = (false, u64::MAX);
        self.add(&Entry::End);
        match self.error {
            Some(error) => Err(error),
            None => self.out.finish()?.flush().map(|()| is_whole),
        }
    }
}

/// Creates a file that is for its owner alone, or empties one and makes it so.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let metadata = file.metadata()?;
    // A device stays for all.
    if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use selector_core::Backend;

    use super::*;
    use crate::Player;

    #[test]
    fn a_record_with_secrets_is_for_its_owner() {
        let path = std::env::temp_dir().join(format!("secret-record-{}", std::process::id()));
        let mode = |has_secrets| {
            Log::create(&path, &Header { has_secrets, ..Header::default() }).unwrap();
            fs::metadata(&path).unwrap().permissions().mode() & 0o777
        };
        let new = mode(true);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let (without, with) = (mode(false), mode(true));
        fs::remove_file(&path).unwrap();
        assert_eq!((new, without, with), (0o600, 0o644, 0o600));
        create_private(Path::new("/dev/null")).unwrap();
        let mode = fs::metadata("/dev/null").unwrap().permissions().mode();
        assert_ne!(mode & 0o777, 0o600, "a device stays for all");
    }

    #[test]
    fn a_record_is_bounded_and_says_where_it_is_full() {
        let path = std::env::temp_dir().join(format!("full-record-{}", std::process::id()));
        let mut log = Log::create(&path, &Header::default()).unwrap();
        log.limit = 100;
        (0..1000).for_each(|time| log.add(&Entry::Now(time)));
        assert!(!log.finish().unwrap());
        let record = Record::open(&path).unwrap();
        fs::remove_file(path).unwrap();
        assert!(record.entries.len() < 110, "{}", record.entries.len());
        let player = Player::new(record);
        let backend = player.backend(Box::new(|_| ()));
        (0..1000).for_each(|_| {
            backend.now();
        });
        let departure = player.departure().unwrap();
        assert!(departure.ends_with("where the recorded run went on, but its record is full"));
    }
}
