//! The file of `--cookie-jar`.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crawl_core::CookieJar;

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
        match fs::read_to_string(path) {
            Ok(text) => jar.read_netscape(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Better said now than at the end.
                let folder = Path::new(path).parent().filter(|it| !it.as_os_str().is_empty());
                if folder.is_some_and(|folder| !folder.is_dir()) {
                    return Err("the folder of the file does not exist".to_owned());
                }
            }
            Err(error) => return Err(error.to_string()),
        }
        Ok(Self { path: path.into(), jar })
    }

    /// Writes the cookies back: first into another file beside it, which then replaces it at
    /// once. Others may not read a new file: it may hold secrets.
    ///
    /// # Errors
    /// Those of the file system. A file is as it was then.
    pub(crate) fn write(&self) -> io::Result<()> {
        let text = self.jar.to_netscape();
        // Behind a link, the file is replaced and not the link.
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let permissions = match path.metadata() {
            // A pipe or a device cannot be replaced.
            Ok(it) if !it.is_file() => {
                return OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes());
            }
            Ok(it) => it.permissions(),
            Err(_) => Permissions::from_mode(0o600),
        };
        let mut beside = path.clone().into_os_string();
        beside.push(format!(".{}.part", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let written = options.open(&beside).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.set_permissions(permissions)?;
            file.sync_all()
        });
        let replaced = written.and_then(|()| fs::rename(&beside, &path));
        if replaced.is_err() {
            // What is left of it is of no use.
            let _ = fs::remove_file(&beside);
        }
        replaced
    }
}
