//! The roles that a program of this package can be started in.

use std::{env, io, process};

#[cfg(target_os = "linux")]
use crate::line;
use crate::process::{ROLE, SETTINGS};
use crate::subjects::{SUBJECTS, Subject};
use crate::{site, worker_process};

/// Plays the role that this process was started in, if any, until its standard
/// input ends; then the process ends. To be called first in `main`.
///
/// `heap` returns the bytes that the process has allocated and not freed, for
/// programs whose allocator counts.
///
/// # Errors
/// When the role cannot be played to its end, or there is no such role.
pub fn play_role_if_asked(heap: Option<fn() -> u64>) -> io::Result<()> {
    play_role_of(SUBJECTS, heap)
}

/// Plays a role as [`play_role_if_asked`] does, in a program that has other subjects.
///
/// # Errors
/// When the role fails, or is not known.
pub fn play_role_of(subjects: &[Subject], heap: Option<fn() -> u64>) -> io::Result<()> {
    let Ok(role) = env::var(ROLE) else {
        return Ok(());
    };
    let settings = env::var(SETTINGS).unwrap_or_default();
    match role.as_str() {
        site::ROLE => site::serve(serde_json::from_str(&settings)?)?,
        #[cfg(target_os = "linux")]
        line::DOWNLOAD => line::download(serde_json::from_str(&settings)?)?,
        worker_process::ROLE => {
            worker_process::crawl(serde_json::from_str(&settings)?, subjects, heap)?
        }
        _ => return Err(io::Error::other(format!("there is no role {role}"))),
    }
    process::exit(0);
}
