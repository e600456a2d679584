//! The lints of the built book: what mdBook makes of the sources.

mod contrast;
mod crawled;
mod print;
mod search;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::book::{Book, PAGES};
use crate::lint::Finding;
use crate::markdown::Page;

/// The built book, in a folder that is deleted on drop.
#[derive(Debug)]
struct Built {
    folder: TempDir,
}

/// Builds the book and runs all lints on it.
pub(crate) fn check(root: &Path, book: &Book) -> io::Result<Vec<Finding>> {
    let built = Built::build(root)?;
    let mut findings = crawled::check(book, &built)?;
    findings.extend(print::check(book, &built)?);
    findings.extend(search::check(&built)?);
    findings.extend(contrast::check(book, &built)?);
    findings.sort();
    Ok(findings)
}

impl Built {
    fn build(root: &Path) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut mdbook = Command::new("mdbook");
        mdbook.arg("build").arg("--dest-dir").arg(folder.path()).arg(root.join("book"));
        let missing = |error| io::Error::other(format!("cannot run mdbook: {error}"));
        let output = mdbook.output().map_err(missing)?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(format!("the book cannot be built:\n{stderr}")));
        }
        Ok(Self { folder })
    }

    /// Returns the text of the file `name`, whose real name may have a digest before
    /// the extension.
    fn read(&self, name: &str) -> io::Result<String> {
        let path = self.folder.path().join(name);
        let beginning = format!("{}-", path.file_stem().unwrap_or_default().to_string_lossy());
        for entry in fs::read_dir(path.parent().unwrap_or(self.folder.path()))? {
            let file = entry?.path();
            let is_called = file.file_name() == path.file_name()
                || file.file_name().is_some_and(|it| it.to_string_lossy().starts_with(&beginning));
            if is_called && file.extension() == path.extension() {
                return fs::read_to_string(file);
            }
        }
        Err(io::Error::other(format!("mdbook has made no {name}")))
    }
}

/// Returns the name of the HTML file of a page.
fn page_name(page: &Page) -> String {
    let path = page.path.strip_prefix(PAGES).unwrap_or(&page.path);
    path.with_extension("html").display().to_string()
}

/// Returns the path of the page that an HTML file was made of.
fn source_of(name: &str) -> PathBuf {
    let name = if name.is_empty() { "introduction.html" } else { name };
    Path::new(PAGES).join(name).with_extension("md")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a built book of these files.
    pub(super) fn built(files: &[(&str, &str)]) -> Built {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Built { folder }
    }

    #[test]
    fn files_are_found_with_or_without_a_digest() {
        let built = built(&[("print.html", "p"), ("css/print-0a.css", "q"), ("toc-1.js", "t")]);
        assert_eq!(built.read("print.html").unwrap(), "p");
        assert_eq!(built.read("css/print.css").unwrap(), "q");
        assert_eq!(built.read("toc.js").unwrap(), "t");
        assert!(built.read("book.js").is_err());
    }

    #[test]
    fn pages_are_mapped_to_html_files_and_back() {
        let page = Page { path: Path::new(PAGES).join("a/b.md"), text: String::new() };
        assert_eq!(page_name(&page), "a/b.html");
        assert_eq!(source_of("a/b.html"), page.path);
    }
}
