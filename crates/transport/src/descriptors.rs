//! The one error that is nobody's fault and passes by itself.

use std::io;

/// Whether this error says that the process (`EMFILE`) or the system
/// (`ENFILE`) has no file descriptor left. It is no failure of the connection
/// that was to be opened: one of the others will end and free its own.
pub fn out_of_descriptors(error: &io::Error) -> bool {
    // The numbers are the same on Linux and macOS.
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}
