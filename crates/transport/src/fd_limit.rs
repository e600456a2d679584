//! Detection of the file descriptor limit.

use std::io;

/// Returns true if this error says that the process (`EMFILE`) or the system
/// (`ENFILE`) has no file descriptor left. That is not a failure of the
/// connection to be opened, and it is temporary: as soon as another connection
/// is closed, its descriptor is free.
pub fn is_fd_limit(error: &io::Error) -> bool {
    // The numbers are the same on Linux and macOS.
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}
