//! Source files of the workspace.

use std::fs;
use std::path::PathBuf;

/// Returns the root folder of the workspace.
pub fn workspace() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the paths and texts of the files in `src` of a crate, sorted by path.
/// A path is relative to `src`.
pub fn sources(name: &str) -> Vec<(String, String)> {
    let src = workspace().join("crates").join(name).join("src");
    let (mut sources, mut folders) = (Vec::new(), vec![src.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let file = path.strip_prefix(&src).unwrap().to_string_lossy().into_owned();
                sources.push((file, fs::read_to_string(path).unwrap()));
            }
        }
    }
    sources.sort();
    sources
}

/// Returns the text of one file in `src` of a crate.
pub fn source(name: &str, file: &str) -> String {
    let path = workspace().join("crates").join(name).join("src").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the lines of a source that are code: no comments, no blank lines, and
/// not the unit tests at its end.
pub fn code_lines(source: &str) -> impl Iterator<Item = &str> {
    let lines = source.lines().map(str::trim);
    lines
        .take_while(|line| *line != "#[cfg(test)]" && !line.starts_with("#[cfg(all(test,"))
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
}
