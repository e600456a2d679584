//! The book: its files on the disk.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use regex::Regex;

use crate::markdown::Page;
use crate::measurements;

/// The folder of the pages, relative to the root of the workspace.
pub(crate) const PAGES: &str = "book/src";
/// The table of contents.
pub(crate) const SUMMARY: &str = "book/src/SUMMARY.md";

/// Every page of the book, the table of contents among them.
#[derive(Debug)]
pub(crate) struct Book {
    root: PathBuf,
    pub(crate) pages: Vec<Page>,
}

impl Book {
    /// Reads all pages of the workspace at `root`.
    pub(crate) fn load(root: &Path) -> io::Result<Self> {
        let mut pages = Vec::new();
        for file in files_below(&root.join(PAGES))? {
            let path = file.strip_prefix(root).map_err(io::Error::other)?;
            let is_page = path.extension().is_some_and(|extension| extension == "md");
            // The Markdown files there are tables, which pages include.
            if is_page && !path.starts_with(measurements::FOLDER) {
                pages.push(Page { path: path.to_owned(), text: fs::read_to_string(&file)? });
            }
        }
        Ok(Self { root: root.to_owned(), pages })
    }

    /// Returns the text of a file, if it exists. Its path is relative to the root of
    /// the workspace, like all paths here.
    pub(crate) fn read(&self, path: &Path) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    /// Returns the page with this path.
    pub(crate) fn page(&self, path: &Path) -> Option<&Page> {
        self.pages.iter().find(|page| page.path == path)
    }

    /// Returns the files of a folder and of all folders in it.
    pub(crate) fn files(&self, folder: &Path) -> Vec<PathBuf> {
        let files = files_below(&self.root.join(folder)).unwrap_or_default();
        let path = |file: PathBuf| file.strip_prefix(&self.root).map(Path::to_owned).ok();
        files.into_iter().filter_map(path).collect()
    }

    /// Returns the pages in the order of the table of contents.
    pub(crate) fn in_order(&self) -> Vec<&Page> {
        let link = Regex::new(r"\]\(([^)]+\.md)\)").expect("a pattern");
        let summary = self.page(Path::new(SUMMARY)).map_or("", |page| &page.text);
        let paths = link.captures_iter(summary).map(|link| Path::new(PAGES).join(&link[1]));
        paths.filter_map(|path| self.page(&path)).collect()
    }
}

/// Resolves `path` relative to the file `from`, without `..` in the result.
pub(crate) fn resolve(from: &Path, path: &str) -> PathBuf {
    let mut resolved = from.parent().unwrap_or(Path::new("")).to_owned();
    for component in Path::new(path).components() {
        match component {
            Component::ParentDir => drop(resolved.pop()),
            Component::CurDir => {}
            other => resolved.push(other),
        }
    }
    resolved
}

/// Returns the files of a folder and of all folders in it, sorted by name.
///
/// # Errors
/// When a folder cannot be read.
pub(crate) fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.sort();
    let mut files = Vec::new();
    for entry in entries {
        if entry.is_dir() {
            files.extend(files_below(&entry)?);
        } else {
            files.push(entry);
        }
    }
    Ok(files)
}

#[cfg(test)]
pub(crate) mod tests {
    use tempfile::TempDir;

    use super::*;

    /// Makes a workspace of these files, in a folder that is deleted on drop.
    pub(crate) fn book(files: &[(&str, &str)]) -> (TempDir, Book) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files.iter().chain([&("book/src/SUMMARY.md", "# Summary\n")]) {
            let path = folder.path().join(path);
            if !path.exists() {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
        }
        let book = Book::load(folder.path()).unwrap();
        (folder, book)
    }

    #[test]
    fn paths_are_resolved_relative_to_the_page() {
        let page = Path::new("book/src/selector.md");
        assert_eq!(resolve(page, "../../crates/a.rs"), Path::new("crates/a.rs"));
        assert_eq!(resolve(page, "./timers.md"), Path::new("book/src/timers.md"));
    }

    #[test]
    fn pages_are_in_the_order_of_the_summary() {
        let summary = "# Summary\n\n[B](b.md)\n- [A](a.md)\n- [Not yet]()\n";
        let (_folder, book) = book(&[
            ("book/src/SUMMARY.md", summary),
            ("book/src/a.md", "a"),
            ("book/src/b.md", "b"),
            ("book/src/c.md", "c"),
        ]);
        let order: Vec<&str> = book.in_order().iter().map(|page| page.text.as_str()).collect();
        assert_eq!(order, ["b", "a"]);
    }
}
