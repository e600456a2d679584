//! The lints of the built book: what mdBook makes of the sources.

mod crawled;

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

    #[test]
    fn pages_are_mapped_to_html_files_and_back() {
        let page = Page { path: Path::new(PAGES).join("a/b.md"), text: String::new() };
        assert_eq!(page_name(&page), "a/b.html");
        assert_eq!(source_of("a/b.html"), page.path);
    }
}
