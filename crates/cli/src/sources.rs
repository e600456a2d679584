//! The sources of a crawl: URLs, from the command line, a file or stdin; or files and
//! folders, which need no server.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use url::Url;

use crate::parsers;
use crate::read_text::read_text;

/// One argument that says where to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Url(Url),
    Path(PathBuf),
    /// Stdin has the URLs, one on a line.
    Stdin,
}

impl Source {
    /// Parses an argument. A name that exists is a file or folder; what begins like a
    /// path has to exist.
    ///
    /// # Errors
    /// When `text` is none of these. The message says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let path = Path::new(text);
        if text == "-" {
            Ok(Self::Stdin)
        } else if path.exists() {
            Ok(Self::Path(path.to_owned()))
        } else if text.starts_with(['/', '.']) {
            Err("there is no such file or folder".into())
        } else {
            parsers::root(text).map(Self::Url)
        }
    }

    /// Returns the path of a file or folder, if it is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            Self::Url(_) | Self::Stdin => None,
        }
    }
}

/// Files to check without a server.
#[derive(Clone, Debug)]
pub struct Files {
    /// The folder whose files are all checked, or the files.
    pub paths: FilePaths,
    /// The URL of the folder: links to it lead to files. Without one it is a URL that
    /// is nowhere.
    pub base_url: Url,
}

/// The paths of the files to check.
#[derive(Clone, Debug)]
pub enum FilePaths {
    /// A folder with a site in it.
    Folder(PathBuf),
    /// Files whose links are checked and not followed.
    Files(Vec<PathBuf>),
}

/// The sources of a crawl, read and of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    pub(crate) roots: Vec<Url>,
    pub(crate) files: Option<Files>,
}

/// The URL of files that have none. The top-level domain is reserved, so that it is
/// that of no host (RFC 2606, section 2).
const NOWHERE: &str = "http://files.invalid/";

impl Sources {
    /// Reads what the arguments name.
    ///
    /// # Errors
    /// When a list of URLs cannot be read, a line of it is no URL, or the kinds do not
    /// go together; as a sentence.
    pub(crate) fn read(
        sources: &[Source],
        input: Option<&Path>,
        base_url: Option<&Url>,
    ) -> Result<Self, String> {
        let (mut roots, mut paths) = (Vec::new(), Vec::new());
        for source in sources {
            match source {
                Source::Url(url) => roots.push(url.clone()),
                Source::Path(path) => paths.push(path.clone()),
                Source::Stdin => {
                    let text = read_text(io::stdin().lock());
                    let text = text.map_err(|error| format!("stdin cannot be read: {error}"))?;
                    roots.extend(lines(&text, "stdin")?);
                }
            }
        }
        if let Some(input) = input {
            let name = format!("--input {}", input.display());
            let text = File::open(input).and_then(read_text);
            let text = text.map_err(|error| format!("{name} cannot be read: {error}"))?;
            roots.extend(lines(&text, &name)?);
        }
        match (roots.is_empty(), paths.as_slice()) {
            (true, []) => Err("there is no URL to begin with".into()),
            (false, []) if base_url.is_some() => Err("--base-url is the URL of a folder".into()),
            (false, []) => Ok(Self { roots, files: None }),
            (false, _) => Err("check URLs and files in two runs".into()),
            (true, [folder]) if folder.is_dir() => {
                Ok(Self::of_files(FilePaths::Folder(folder.clone()), base_url))
            }
            (true, files) if files.iter().any(|path| path.is_dir()) => {
                Err("name one folder, or files".into())
            }
            (true, _) if base_url.is_some() => Err("--base-url is the URL of a folder".into()),
            (true, _) => Ok(Self::of_files(FilePaths::Files(paths), None)),
        }
    }

    fn of_files(paths: FilePaths, base_url: Option<&Url>) -> Self {
        let nowhere = || Url::parse(NOWHERE).ok();
        let base_url = base_url.cloned().or_else(nowhere);
        let files = base_url.map(|base_url| Files { paths, base_url });
        let roots = files.iter().map(|files| files.base_url.clone()).collect();
        Self { roots, files }
    }

    /// Returns the names of the sources, for the title of a report.
    pub(crate) fn title(&self) -> String {
        let names: Vec<String> = match &self.files {
            Some(Files { paths: FilePaths::Folder(path), .. }) => vec![path.display().to_string()],
            Some(Files { paths: FilePaths::Files(paths), .. }) => {
                paths.iter().map(|path| path.display().to_string()).collect()
            }
            None => self.roots.iter().map(Url::to_string).collect(),
        };
        names.join(", ")
    }
}

/// Parses the lines of a list of URLs. Empty lines, and lines that begin with a
/// `#`, have none. A byte order mark before the first one is no part of it.
fn lines(text: &str, name: &str) -> Result<Vec<Url>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_url = |(_, line): &(usize, &str)| !line.is_empty() && !line.starts_with('#');
    let lines = text.lines().map(str::trim).enumerate().filter(is_url);
    let urls = lines.map(|(n, line)| {
        // Before an @ there may be a password.
        let shown = if line.contains('@') { String::new() } else { format!("'{line}': ") };
        parsers::root(line).map_err(|error| format!("{name}, line {}: {shown}{error}", n + 1))
    });
    urls.collect()
}

/// Parses the URL of a folder. It ends with a slash, which is added.
///
/// # Errors
/// When `text` is no URL.
pub(crate) fn base_url(text: &str) -> Result<Url, String> {
    let mut url = parsers::root(text)?;
    url.set_query(None);
    url.set_fragment(None);
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}
