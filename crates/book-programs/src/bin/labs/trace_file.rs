//! The trace of a run, and the file that it is written to.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::sync::OnceLock;

use trace::{EnterGuard, Tracer, json};

/// The most events: those of all programs but one that spins.
const LIMIT: usize = 2_000;

static TRACE: OnceLock<(Tracer, OsString)> = OnceLock::new();

/// Has this thread write to the trace, until the guard is dropped.
pub(crate) fn begin(file: OsString) -> EnterGuard {
    TRACE.get_or_init(|| (Tracer::new(LIMIT), file)).0.enter()
}

/// Writes the trace to its file, if there is one.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write() -> io::Result<()> {
    let Some((tracer, file)) = TRACE.get() else { return Ok(()) };
    let about = json::About { stage: "lab", program: "labs", sources: &[], function: &|_| None };
    json::write(&tracer.take(), &about, &mut File::create(file)?)
}
