//! The file of `--cookie-jar`.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crawl_core::CookieJar;

use crate::read_text::{plain, read_text};
use crate::replace_file::replace_file;

/// A file of cookies, and the jar that begins with them.
#[derive(Clone, Debug)]
pub(crate) struct CookieFile {
    pub(crate) path: PathBuf,
    pub(crate) jar: CookieJar,
}

impl CookieFile {
    /// Reads the file. One that is not there has no cookies, and is made at the end.
    ///
    /// # Errors
    /// When it cannot be read, or is no such file, or cannot be made since there is no
    /// folder for it, as a sentence.
    pub(crate) fn read(path: &str) -> Result<Self, String> {
        let jar = CookieJar::default();
        match File::open(path).and_then(read_text) {
            Ok(text) => jar.read_netscape(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Better said now than at the end.
                let folder = Path::new(path).parent().filter(|it| !it.as_os_str().is_empty());
                if folder.is_some_and(|folder| !folder.is_dir()) {
                    return Err("the folder of the file does not exist".to_owned());
                }
            }
            Err(error) => return Err(plain(&error)),
        }
        Ok(Self { path: path.into(), jar })
    }

    /// Writes the cookies back, but to no pipe: none of its readers wants them, and this
    /// process may be the only one. Others may not read a new file: it may hold secrets.
    ///
    /// # Errors
    /// Those of [`replace_file`].
    pub(crate) fn write(&self) -> io::Result<()> {
        if self.path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo()) {
            return Ok(());
        }
        replace_file(&self.path, self.jar.to_netscape().as_bytes(), 0o600)
    }
}
