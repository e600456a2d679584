//! The copy of the workspace in which bugs are planted: `target/lab`.
//!
//! There is one copy, which is made equal to the workspace but for the last lab. Only
//! the files that differ are written, so that cargo builds only what a lab changes.
//! The version of its packages is another one: so nothing of them is mistaken for a
//! part of the workspace, though both are built in the same folder and share what
//! they depend on.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::walk::with_other_version;

use super::Replacement;
use crate::process::target_folder;

/// Makes the copy, with these wrong functions in it. Returns its folder.
///
/// # Errors
/// When the sources have no such function, or a file cannot be read or written.
pub(super) fn copy_with(root: &Path, replacements: &[Replacement]) -> io::Result<PathBuf> {
    let folder = target_folder()?.join("lab");
    let files = files_of_workspace(root)?;
    for file in &files {
        let source = root.join(file);
        let mut bytes = fs::read(&source)?;
        if file == "Cargo.toml" {
            let manifest = String::from_utf8_lossy(&bytes);
            bytes = with_other_version(&manifest, "lab").into_bytes();
        }
        for replacement in replacements.iter().filter(|it| it.file == *file) {
            let text = String::from_utf8_lossy(&bytes);
            bytes = replacement.apply(&text).map_err(io::Error::other)?.into_bytes();
        }
        write_if_other(&folder.join(file), &bytes)?;
    }
    if let Some(replacement) = replacements.iter().find(|it| !files.contains(&it.file)) {
        return Err(io::Error::other(format!("there is no {}", replacement.file)));
    }
    remove_others(&folder, &folder, &files)?;
    Ok(folder)
}

/// Returns the files of the workspace, those that are not committed among them.
fn files_of_workspace(root: &Path) -> io::Result<BTreeSet<String>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let output = git.output()?;
    if !output.status.success() {
        return Err(io::Error::other("`git ls-files` has failed: labs need a clone"));
    }
    let files = String::from_utf8_lossy(&output.stdout).into_owned();
    let exists = |file: &&str| root.join(file).is_file();
    Ok(files.split_terminator('\0').filter(exists).map(str::to_owned).collect())
}

fn write_if_other(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|present| present == bytes) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, bytes)
}

/// Removes what the workspace does not have.
fn remove_others(copy: &Path, folder: &Path, files: &BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(copy, &path, files)?;
        } else if path
            .strip_prefix(copy)
            .is_ok_and(|file| !files.contains(&*file.to_string_lossy()))
        {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_written_and_what_is_gone_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b.rs");
        write_if_other(&file, b"one").unwrap();
        let written = || fs::metadata(&file).unwrap().modified().unwrap();
        let before = written();
        write_if_other(&file, b"one").unwrap();
        assert_eq!(written(), before);
        fs::write(folder.path().join("a/gone.rs"), "").unwrap();
        let files = BTreeSet::from(["a/b.rs".to_owned()]);
        remove_others(folder.path(), folder.path(), &files).unwrap();
        assert!(file.exists() && !folder.path().join("a/gone.rs").exists());
    }
}
