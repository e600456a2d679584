//! Files of text that a user names: they have a limit, since one may be a device.

use std::io::{self, ErrorKind, Read};

/// The maximum length of a file, in bytes: 256 MiB.
const MAX_LEN: u64 = 256 << 20;

/// Returns the text of an error for a user.
pub(crate) fn plain(error: &io::Error) -> String {
    web::without_os_error(&error.to_string())
}

/// Reads a text.
///
/// # Errors
/// Those of reading, and when it has more than 256 MiB or is no UTF-8.
pub(crate) fn read_text(file: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MAX_LEN + 1).read_to_end(&mut bytes)?;
    let wrong = |what: &str| io::Error::new(ErrorKind::InvalidData, what);
    if bytes.len() as u64 > MAX_LEN {
        return Err(wrong("it has more than 256 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| wrong("it is not text in UTF-8"))
}
