//! The format of a record: one line of a journal.

use std::io::{self, Write};
use std::path::Path;

use flate2::Crc;
use serde::Serialize;

/// Limit on the length of a record, in bytes: a file that was damaged may be one line
/// of many gigabytes.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// Length of the checksum: eight hexadecimal digits and a space.
const CHECKSUM: usize = 9;

/// Replaces `line` by a record with this value.
pub(super) fn write(value: &impl Serialize, line: &mut Vec<u8>) -> io::Result<()> {
    line.clear();
    line.resize(CHECKSUM, b' ');
    serde_json::to_writer(&mut *line, value)?;
    let checksum = checksum(&line[CHECKSUM..]);
    line[..CHECKSUM].as_mut().write_all(checksum.as_bytes())?;
    line.push(b'\n');
    Ok(())
}

/// Returns the JSON of a record; `None` if the line is not a record, or not as it
/// was written.
pub(super) fn read(line: &[u8]) -> Option<&[u8]> {
    let (checked, json) = line.strip_suffix(b"\n")?.split_at_checked(CHECKSUM)?;
    (checked == checksum(json).as_bytes()).then_some(json)
}

/// Returns the CRC-32, as in gzip, of a record. It detects a write that a crash
/// cut short. It does not protect against manipulation.
fn checksum(json: &[u8]) -> String {
    let mut crc = Crc::new();
    crc.update(json);
    format!("{:08x} ", crc.sum())
}

/// Returns the error with the name of the journal.
pub(super) fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the journal {}: {error}", path.display()))
}
