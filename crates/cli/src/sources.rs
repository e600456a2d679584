//! The sources of a crawl: URLs, from the command line, a file or stdin; or files and
//! folders, which need no server.

use std::fs::{self, File};
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
    /// Stdin lists URLs and files, one a line.
    Stdin,
    /// The name of a file or folder that does not exist.
    Missing(String),
}

impl Source {
    /// Parses an argument. A name that exists is a file or folder. So is one that does not
    /// exist and cannot be a host: to look it up would report a spelling mistake as an error
    /// of DNS.
    ///
    /// # Errors
    /// When `text` is not a valid URL. The message says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let path = Path::new(text);
        if text == "-" {
            Ok(Self::Stdin)
        } else if path.exists() {
            Ok(Self::Path(path.to_owned()))
        } else if !parsers::may_be_url(text) {
            Ok(Self::Missing(text.to_owned()))
        } else {
            parsers::root(text).map(Self::Url)
        }
    }

    /// Returns the path of a file or folder, if it is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            Self::Url(_) | Self::Stdin | Self::Missing(_) => None,
        }
    }

    /// Returns the message about a name that is not a file or a folder, if this is one.
    pub(crate) fn why_missing(&self) -> Option<String> {
        let Self::Missing(name) = self else { return None };
        let message = format!("no file or folder named '{name}'");
        let path = Path::new(name);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let names: Vec<String> = names.collect();
        let typed = path.file_name().unwrap_or_default().to_string_lossy();
        let similar = parsers::similar(&typed, names.iter().map(String::as_str));
        if let Some(similar) = similar {
            let similar = folder.unwrap_or(Path::new("")).join(similar);
            return Some(format!("{message}: did you mean '{}'?", similar.display()));
        }
        let is_url = !name.starts_with(['/', '.']) && parsers::root(name).is_ok();
        Some(if is_url && !name.contains('*') {
            format!("{message} (for a site, write https://{name})")
        } else {
            message
        })
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
    /// Files whose links are checked and not followed, and folders of such files.
    Files(Vec<PathBuf>),
}

/// The sources of a crawl, read and of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    pub(crate) roots: Vec<Url>,
    pub(crate) files: Option<Files>,
    /// The names in lists that are not files or folders.
    pub(crate) missing: Vec<String>,
}

/// The URL of files that have none. The top-level domain is reserved, so that it is
/// that of no host (RFC 2606, section 2).
const NOWHERE: &str = "http://files.invalid/";

impl Sources {
    /// Reads what the arguments name. Without a URL, a file or a missing name, the lists are
    /// empty.
    ///
    /// # Errors
    /// When a named file does not exist, a list cannot be read or has something else than URLs
    /// and files, or the kinds do not go together; as a sentence.
    pub(crate) fn read(
        sources: &[Source],
        input: Option<&Path>,
        base_url: Option<&Url>,
    ) -> Result<Self, String> {
        if let Some(why) = sources.iter().find_map(Source::why_missing) {
            return Err(why);
        }
        let mut all = Vec::new();
        for source in sources {
            match source {
                Source::Stdin => {
                    let text = read_text(io::stdin().lock());
                    let text = text.map_err(|error| format!("stdin cannot be read: {error}"))?;
                    all.extend(lines(&text, "stdin")?);
                }
                other => all.push(other.clone()),
            }
        }
        if let Some(input) = input {
            let name = format!("--input {}", input.display());
            let text = File::open(input).and_then(read_text);
            let text = text.map_err(|error| format!("{name} cannot be read: {error}"))?;
            all.extend(lines(&text, &name)?);
        }
        let (mut roots, mut paths, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for source in all {
            match source {
                Source::Url(url) => roots.push(url),
                Source::Path(path) => paths.push(path),
                Source::Missing(name) => missing.push(name),
                Source::Stdin => {}
            }
        }
        let needs_folder = "--base-url needs one folder to check";
        let read = match (roots.is_empty(), paths.as_slice()) {
            (true, []) => match missing.first() {
                Some(first) => return Err(format!("none of the listed files exists: {first}")),
                None => Self { roots, files: None, missing: Vec::new() },
            },
            (false, []) if base_url.is_some() => return Err(needs_folder.into()),
            (false, []) => Self { roots, files: None, missing: Vec::new() },
            (false, _) => return Err("URLs and files cannot be mixed in one run".into()),
            (true, [folder]) if folder.is_dir() => {
                Self::of_files(FilePaths::Folder(folder.clone()), base_url)
            }
            (true, _) if base_url.is_some() => return Err(needs_folder.into()),
            (true, _) => Self::of_files(FilePaths::Files(paths), None),
        };
        Ok(Self { missing, ..read })
    }

    /// Returns true if there is nothing to check.
    pub(crate) fn is_empty(&self) -> bool {
        self.roots.is_empty() && self.files.is_none()
    }

    /// Returns the warning about names in lists that were skipped, if there are any.
    pub(crate) fn warning(&self) -> Option<String> {
        let first = self.missing.first()?;
        Some(match self.missing.len() {
            1 => format!("a listed file was skipped, since it does not exist: {first}"),
            n => format!("{n} listed files were skipped, since they do not exist: {first}, ..."),
        })
    }

    fn of_files(paths: FilePaths, base_url: Option<&Url>) -> Self {
        let nowhere = || Url::parse(NOWHERE).ok();
        let base_url = base_url.cloned().or_else(nowhere);
        let files = base_url.map(|base_url| Files { paths, base_url });
        let roots = files.iter().map(|files| files.base_url.clone()).collect();
        Self { roots, files, missing: Vec::new() }
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

/// Parses the lines of a list of URLs and files. Empty lines, and lines that begin with a
/// `#`, have none. A byte order mark before the first one is ignored.
fn lines(text: &str, name: &str) -> Result<Vec<Source>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_source = |(_, line): &(usize, &str)| !line.is_empty() && !line.starts_with('#');
    let lines = text.lines().map(str::trim).enumerate().filter(is_source);
    let sources = lines.map(|(n, line)| {
        // Before an @ there may be a password.
        let shown = if line.contains('@') { String::new() } else { format!("'{line}': ") };
        Source::parse(line).map_err(|error| format!("{name}, line {}: {shown}{error}", n + 1))
    });
    sources.collect()
}

/// Parses the URL of a folder. It ends with a slash, which is added.
///
/// # Errors
/// When `text` is not a URL.
pub(crate) fn base_url(text: &str) -> Result<Url, String> {
    let mut url = parsers::root(text)?;
    url.set_query(None);
    url.set_fragment(None);
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}
