//! The built book: mdBook can build it, and our own crawler finds every link in it good.

use std::io;
use std::path::Path;
use std::process::Command;

use crate::process::{cargo, forget_package};

/// Builds the book and checks its files with `crawl`, which says what is broken. Returns true
/// if nothing is.
///
/// # Errors
/// When mdBook or the crawler cannot be run.
pub(crate) fn check(root: &Path) -> io::Result<bool> {
    let folder = tempfile::tempdir()?;
    let mut mdbook = Command::new("mdbook");
    mdbook.arg("build").arg("--dest-dir").arg(folder.path()).arg(root.join("book"));
    forget_package(&mut mdbook);
    let missing = |error| io::Error::other(format!("cannot run mdbook: {error}"));
    if !mdbook.status().map_err(missing)?.success() {
        return Ok(false);
    }
    let mut crawl = cargo(root)?;
    crawl.args(["run", "--quiet", "--package", "crawl", "--", "--check", "all"]);
    // A server may show this page for any address, so its links begin at the root of the site,
    // that to its own heading among them.
    crawl.args(["--exclude", r"/404\.html$"]).arg(folder.path());
    Ok(crawl.status()?.success())
}
