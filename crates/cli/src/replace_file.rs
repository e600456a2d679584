//! Files that are replaced at once.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, ResourceBusy, Unsupported};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes a file: first into another one beside it, which then replaces it at once. It keeps
/// its permissions; a new one has those of `mode` that the umask leaves. A file that cannot be
/// replaced, since its folder is closed or it is mounted, is written in place.
///
/// # Errors
/// Those of the file system. A file is as it was then, unless it was written in place.
pub(crate) fn replace_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    // Behind a link, the file is replaced and not the link.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let before = path.metadata().ok();
    if before.as_ref().is_some_and(|before| !before.is_file()) {
        // A pipe or a device cannot be replaced.
        return OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let mut beside = path.clone().into_os_string();
    beside.push(format!(".{}.part", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(mode);
    let written = options.open(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        before.as_ref().map_or(Ok(()), |before| file.set_permissions(before.permissions()))?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&beside, &path));
    let Err(error) = replaced else { return Ok(()) };
    // What is left of it is of no use.
    let _ = fs::remove_file(&beside);
    match error.kind() {
        PermissionDenied | ResourceBusy | ReadOnlyFilesystem | Unsupported if before.is_some() => {
            let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
            file.write_all(bytes)?;
            file.sync_all()
        }
        _ => Err(error),
    }
}
