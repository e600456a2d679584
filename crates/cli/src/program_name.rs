//! The name of the program. Several programs share this crate, so none is written here.

use std::env;
use std::path::Path;

/// Returns the name under which this program was started.
pub(crate) fn program_name() -> Option<String> {
    let path = env::args_os().next()?;
    let name = Path::new(&path).file_stem()?;
    Some(name.to_string_lossy().into_owned())
}
