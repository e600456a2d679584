//! Files as a source: a folder with a site in it, or single files, checked without a
//! server. A URL of the site is answered as a web server with the files would answer.

use std::collections::{HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

use cli::{FilePaths, Files};
use crawl_core::{Crawl, ErrorClass, FetchError, Job, Options, Purpose, Row, ScopeRule, Visit};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};
use url::Url;
use web::links::ExtractOptions;
use web::page::{FileKind, PageReader};

#[cfg(feature = "markdown")]
use crate::markdown;

/// True if Markdown is read. Otherwise a file of Markdown can be linked to, and is not a page.
const READS_MARKDOWN: bool = cfg!(feature = "markdown");

/// The names of the file that answers for a folder.
const INDEX_FILES: [&str; 3] = ["index.html", "index.htm", "README.md"];

/// The characters of a file name that mean something else in the path of a URL.
const SPECIAL: AsciiSet =
    CONTROLS.add(b'%').add(b'?').add(b'#').add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\');

/// The crawl of the files, when they have been checked.
pub(crate) struct Checked {
    pub(crate) crawl: Crawl,
    /// The jobs that need a network: links that leave the files.
    pub(crate) left: Vec<Job>,
    /// The number of URLs without a row, since their file has one.
    pub(crate) num_aliases: u64,
    /// A warning about files that were not read.
    pub(crate) warning: Option<String>,
}

/// Checks the files.
///
/// # Errors
/// When the files to begin with cannot be listed, or there are none.
pub(crate) fn check(
    files: &Files,
    mut options: Options,
    sink: &mut dyn FnMut(Row),
    is_stopped: impl Fn() -> bool,
) -> io::Result<Checked> {
    // The rules for robots protect servers.
    options.settings.robots = false;
    // Files begin one click deep, like the pages of a sitemap.
    options.settings.max_depth = options.settings.max_depth.map(|depth| depth.saturating_add(1));
    let checks_fragments = options.settings.check.fragments;
    let (named, warning) = list(files)?;
    let mut crawl = Crawl::new(options.clone());
    crawl.keep_below(files.base_url.path());
    let mut jobs = VecDeque::new();
    for file in &named {
        let (job, row) = crawl.seed(&url_of(files, file)?);
        jobs.extend(job);
        row.into_iter().for_each(&mut *sink);
    }
    let named: HashSet<PathBuf> = named.into_iter().collect();
    let is_folder = matches!(files.paths, FilePaths::Folder(_));
    let (mut left, mut read, mut num_aliases) = (Vec::new(), HashSet::new(), 0);
    while let Some(mut job) = jobs.pop_front() {
        let url = Url::parse(&job.url).ok();
        let path = url.as_ref().and_then(|url| path_below(files, url));
        let Some(path) = path.filter(|_| job.purpose != Purpose::External && !is_stopped()) else {
            left.push(job);
            jobs.extend(crawl.set_aside());
            continue;
        };
        if job.purpose == Purpose::Media {
            // Of a file, all is there at once.
            job.purpose = Purpose::Resource;
        }
        let found = decoded(path).map_or(Found::Nothing, |path| resolve(files, &path));
        // A file has one row, whatever the number of its URLs: `/a/`, `/a/index.html`.
        let is_alias = match &found {
            Found::File(file) => !read.insert(file.clone()),
            Found::Redirect(_) => true,
            Found::Folder(_) | Found::Nothing => false,
        };
        let is_page = is_folder || found.file().is_some_and(|file| named.contains(file));
        if is_page && found.file().is_some_and(|file| is_sitemap(file)) {
            job.purpose = Purpose::Sitemap;
        }
        let is_read = is_page && !matches!(found, Found::Folder(_));
        if !is_read && job.purpose == Purpose::Page {
            // Its own links are not asked for.
            job.purpose = Purpose::Resource;
        }
        let needs = Needs { is_page: is_page && !is_alias, ids: checks_fragments };
        let answer = found.answer(&job, needs, options.settings.max_body_size);
        let Some(mut visit) = crawl.begin(job, Instant::now()) else { continue };
        feed(&mut visit, &options, answer);
        let mut completion = crawl.complete(&mut visit, Instant::now());
        jobs.extend(std::mem::take(&mut completion.jobs));
        completion.others.into_iter().for_each(&mut *sink);
        if is_alias && !completion.row.is_broken() {
            num_aliases += 1;
        } else {
            sink(completion.row);
        }
    }
    // What other sites redirect to is not in the files.
    crawl.clear_scope();
    crawl.begin_requests();
    Ok(Checked { crawl, left, num_aliases, warning })
}

/// Returns a text with the paths of files in place of their URLs, like the rows.
pub(crate) fn with_paths(files: &Files, text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let url = word.trim_end_matches([':', ',']);
        let is_below = url.starts_with(files.base_url.as_str());
        match locate(files, url).filter(|_| is_below) {
            Some(path) => path + &word[url.len()..],
            None => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the path of the file that a URL leads to, as a user writes it: seen from the
/// current folder.
pub(crate) fn locate(files: &Files, url: &str) -> Option<String> {
    let (url, fragment) = url.split_once('#').map_or((url, None), |(u, f)| (u, Some(f)));
    let url = Url::parse(url).ok()?;
    let path = path_below(files, &url)?;
    let path = decoded(path).unwrap_or_else(|| path.into());
    let file = match resolve(files, &path) {
        Found::File(file) => file,
        Found::Folder(folder) => folder,
        Found::Redirect(_) | Found::Nothing => absolute(files, &path)?,
    };
    let current = std::env::current_dir().ok();
    let seen = current.as_ref().and_then(|current| file.strip_prefix(current).ok());
    let shown = shown(seen.unwrap_or(&file));
    Some(fragment.map_or(shown.clone(), |fragment| format!("{shown}#{fragment}")))
}

/// Returns a path as one line of text. A name that is no UTF-8 is as in its URL.
fn shown(path: &Path) -> String {
    let encoded = || percent_encode(path.as_os_str().as_encoded_bytes(), &SPECIAL).to_string();
    let shown = path.to_str().map_or_else(encoded, |path| path.replace('\n', "\\u000a"));
    if shown.is_empty() {
        ".".to_owned()
    } else if shown.trim_start().starts_with("::") {
        // At the beginning of a line, GitHub Actions would take it for a command.
        format!("./{shown}")
    } else {
        shown
    }
}

/// Returns the files to begin with, in the order of their names, and a warning if some
/// cannot be read.
///
/// # Errors
/// When a folder cannot be read, no file has links, or a file is named that cannot be
/// read.
fn list(files: &Files) -> io::Result<(Vec<PathBuf>, Option<String>)> {
    let mut found = Vec::new();
    let mut num_unread = 0;
    match &files.paths {
        FilePaths::Files(paths) => {
            for path in paths {
                if path.is_dir() {
                    num_unread += add_pages_below(path, &mut found)?;
                } else {
                    found.push(path.clone());
                }
            }
            if found.is_empty() {
                let message = "there are no HTML or Markdown files in these folders";
                return Err(io::Error::other(message));
            }
            if let Some(path) = found.iter().find(|path| is_markdown(path) && !is_page(path)) {
                return Err(io::Error::other(format!(
                    "{} is Markdown: {}",
                    path.display(),
                    without_markdown()
                )));
            }
            if let Some(first) = found.first().filter(|_| !found.iter().any(|it| has_links(it))) {
                let message = format!("{} is not an HTML or Markdown file", first.display());
                return Err(io::Error::other(message));
            }
        }
        FilePaths::Folder(folder) => {
            num_unread += add_pages_below(folder, &mut found)?;
            if found.is_empty() {
                let folder = folder.display();
                let message = match num_unread {
                    0 => format!("there are no HTML or Markdown files in {folder}"),
                    _ => format!("there are no HTML files in {folder}: {}", without_markdown()),
                };
                return Err(io::Error::other(message));
            }
        }
    }
    let mut absolute: Vec<PathBuf> =
        found.iter().map(std::path::absolute).collect::<io::Result<_>>()?;
    absolute.sort();
    let files = absolute.iter().map(|path| without_dots(path)).collect();
    let warning = || format!("{num_unread} Markdown files not checked: {}", without_markdown());
    Ok((files, (num_unread > 0).then(warning)))
}

/// Says why this build does not read Markdown, and how to get one that does.
fn without_markdown() -> String {
    cli::without_feature("markdown")
}

/// Adds the pages in a folder and below it. Returns the number of Markdown files that this
/// build does not read.
///
/// # Errors
/// When a folder cannot be read.
fn add_pages_below(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<usize> {
    let mut num_unread = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let named = |error: io::Error| {
            let message = format!("{} cannot be read: {error}", folder.display());
            io::Error::new(error.kind(), message)
        };
        for entry in fs::read_dir(&folder).map_err(named)? {
            let entry = entry.map_err(named)?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if is_hidden(&path) {
                // Such as what an editor or a file manager puts beside a page.
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if is_page(&path) || is_sitemap(&path) {
                found.push(path);
            } else if is_markdown(&path) {
                num_unread += 1;
            }
        }
    }
    Ok(num_unread)
}

/// Returns the URL of a file.
fn url_of(files: &Files, file: &Path) -> io::Result<Url> {
    let folder = folder(files)?;
    let below = file.strip_prefix(folder).map_err(io::Error::other)?;
    let parts =
        below.iter().map(|part| percent_encode(part.as_encoded_bytes(), &SPECIAL).to_string());
    let path = parts.collect::<Vec<_>>().join("/");
    // The path is written out, so that no part of it is taken for a scheme.
    let mut url = files.base_url.clone();
    url.set_path(&format!("{}{path}", files.base_url.path()));
    Ok(url)
}

/// Returns the folder that stands for the base URL. Single files may link to any file,
/// so theirs is the root of the file system.
fn folder(files: &Files) -> io::Result<PathBuf> {
    match &files.paths {
        FilePaths::Folder(folder) => Ok(without_dots(&std::path::absolute(folder)?)),
        FilePaths::Files(_) => Ok("/".into()),
    }
}

/// Takes `.` and `..` out of an absolute path, as a URL does.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Returns the path of a URL below the folder. No other host has files.
fn path_below<'a>(files: &Files, url: &'a Url) -> Option<&'a str> {
    let is_same_site = ScopeRule::Strict.is_same_site(&files.base_url, url);
    url.path().strip_prefix(files.base_url.path()).filter(|_| is_same_site)
}

/// Returns a decoded path, which may have any bytes, or `None` if no file can have it:
/// nothing is outside of the folder. It is relative, whatever the number of slashes.
fn decoded(path: &str) -> Option<OsString> {
    let mut decoded = Vec::new();
    for part in path.trim_start_matches('/').split('/') {
        let part: Vec<u8> = percent_decode_str(part).collect();
        if part == b".." || part.iter().any(|byte| matches!(byte, b'/' | b'\0')) {
            return None;
        }
        decoded.push(part);
    }
    Some(OsString::from_vec(decoded.join(&b'/')))
}

fn absolute(files: &Files, below: &OsStr) -> Option<PathBuf> {
    Some(folder(files).ok()?.join(below))
}

/// The answer to a path.
enum Found {
    File(PathBuf),
    /// A folder without an index file that is no part of a site: it has no HTML, or only
    /// single files are checked.
    Folder(PathBuf),
    /// A folder without the slash at its end; with it, relative links are right. The path
    /// is encoded.
    Redirect(String),
    Nothing,
}

impl Found {
    fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::File(file) => Some(file),
            _ => None,
        }
    }
}

/// Finds the file that a web server sends for a path: itself, the index file of a
/// folder, or a page without its extension ("pretty URL").
fn resolve(files: &Files, below: &OsStr) -> Found {
    let Some(path) = absolute(files, below) else { return Found::Nothing };
    let FilePaths::Files(paths) = &files.paths else { return resolve_path(&path, below, true) };
    // `/logo.png` in a single file is most likely in the folder of the project; in a folder
    // that is checked together with others, it is in that folder.
    let folders = paths.iter().filter(|path| path.is_dir()).cloned();
    let others = std::env::current_dir().into_iter().chain(folders);
    let others = others.map(|folder| folder.join(below));
    let found = [path].into_iter().chain(others).map(|path| resolve_path(&path, below, false));
    found.into_iter().find(|found| !matches!(found, Found::Nothing)).unwrap_or(Found::Nothing)
}

fn resolve_path(path: &Path, below: &OsStr, is_site: bool) -> Found {
    let ends_with_slash = below.as_encoded_bytes().ends_with(b"/");
    if path.is_dir() {
        if !below.is_empty() && !ends_with_slash {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            return Found::Redirect(format!("{}/", percent_encode(name, &SPECIAL)));
        }
        let index = INDEX_FILES.iter().map(|name| path.join(name)).find(|file| file.is_file());
        return match index {
            Some(file) => Found::File(file),
            None if is_site && has_html(path) => Found::Nothing,
            None => Found::Folder(path.to_owned()),
        };
    }
    let with = |extension: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(extension);
        PathBuf::from(name)
    };
    let candidates = [
        path.to_owned(),
        with(".html"),
        with(".htm"),
        // Markdown that is to become HTML links to the HTML.
        path.with_extension("md"),
    ];
    let is_source = |file: &Path| !is_markdown(file) || is_html(path) || is_markdown(path);
    // Nothing is below a file.
    let mut candidates = candidates.into_iter().filter(|_| !ends_with_slash);
    candidates.find(|file| file.is_file() && is_source(file)).map_or(Found::Nothing, Found::File)
}

fn has_html(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    paths.any(|path| is_html(&path) && !is_hidden(&path))
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| extensions.iter().any(|e| extension == *e))
}

fn is_html(path: &Path) -> bool {
    has_extension(path, &["html", "htm", "xhtml"])
}

fn is_xhtml(path: &Path) -> bool {
    has_extension(path, &["xhtml"])
}

fn is_markdown(path: &Path) -> bool {
    has_extension(path, &["md", "markdown"])
}

fn is_page(path: &Path) -> bool {
    is_html(path) || (READS_MARKDOWN && is_markdown(path))
}

/// Returns true for a file with a name that sitemaps have.
fn is_sitemap(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| name.starts_with("sitemap")) && has_extension(path, &["xml"])
}

/// Returns true if a file is read for its links: a page, a style sheet, a drawing or a
/// sitemap.
fn has_links(path: &Path) -> bool {
    page_type(path).is_some() || has_extension(path, &["css", "svg"]) || is_sitemap(path)
}

/// A response without a network: its head, and where its body comes from.
struct Answer {
    head: String,
    body: Body,
}

enum Body {
    Text(String),
    File(File),
    Failed(FetchError),
}

impl Answer {
    fn empty(status_line: &str) -> Self {
        let head = format!("HTTP/1.1 {status_line}\r\nContent-Length: 0\r\n\r\n");
        Self { head, body: Body::Text(String::new()) }
    }

    fn page(html: String) -> Self {
        let length = html.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n\r\n"
        );
        Self { head, body: Body::Text(html) }
    }

    fn failed(path: &Path, error: &io::Error) -> Self {
        let message = format!("{} cannot be read: {error}", path.display());
        let error = FetchError::new(ErrorClass::Truncated, message);
        Self { head: String::new(), body: Body::Failed(error) }
    }
}

/// The beginning of a file: at most `max_size` bytes.
struct Beginning {
    bytes: Vec<u8>,
    max_size: u64,
    is_whole: bool,
}

impl Beginning {
    fn read(file: &Path, max_size: u64) -> io::Result<Self> {
        let mut opened = File::open(file)?;
        let mut bytes = Vec::new();
        opened.by_ref().take(max_size).read_to_end(&mut bytes)?;
        let is_whole = opened.read(&mut [0])? == 0;
        Ok(Self { bytes, max_size, is_whole })
    }

    /// Returns the lines that are there to their end: half a link would be another one.
    #[cfg(feature = "markdown")]
    fn whole_lines(&self) -> &[u8] {
        let end = self.bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        if self.is_whole { &self.bytes } else { &self.bytes[..end] }
    }

    /// Returns the answer that stands for the file. It is too long if the file is.
    fn answer(&self, mut html: String) -> Answer {
        let length = usize::try_from(self.max_size).unwrap_or(usize::MAX).saturating_add(1);
        if !self.is_whole && html.len() < length {
            html.push_str(&" ".repeat(length - html.len()));
        }
        Answer::page(html)
    }
}

/// The parts of a file that are needed.
#[derive(Clone, Copy)]
struct Needs {
    /// The links count: the file is a page of the crawl.
    is_page: bool,
    ids: bool,
}

impl Found {
    /// Answers a job. At most `max_size` bytes of a page are read.
    fn answer(&self, job: &Job, needs: Needs, max_size: u64) -> Answer {
        let Needs { is_page, ids: needs_ids } = needs;
        let file = match self {
            Self::Nothing => return Answer::empty("404 Not Found"),
            Self::Folder(_) => return Answer::empty("200 OK"),
            Self::Redirect(to) => {
                return Answer::empty(&format!("301 Moved Permanently\r\nLocation: ./{to}"));
            }
            Self::File(file) => file,
        };
        let is_read = is_page || needs_ids;
        #[cfg(feature = "markdown")]
        if is_markdown(file) && is_read {
            let answer = Beginning::read(file, max_size).map(|beginning| {
                let text = String::from_utf8_lossy(beginning.whole_lines());
                let html = markdown::to_html(&text);
                let ids = |html: String| ids(job, FileKind::Html, html.as_bytes());
                beginning.answer(if is_page { html } else { ids(html) })
            });
            return answer.unwrap_or_else(|error| Answer::failed(file, &error));
        }
        let answer = if is_html(file) && !is_page && needs_ids {
            let kind = if is_xhtml(file) { FileKind::Xhtml } else { FileKind::Html };
            Beginning::read(file, max_size)
                .map(|beginning| beginning.answer(ids(job, kind, &beginning.bytes)))
        } else {
            File::open(file).and_then(|opened| {
                let length = opened.metadata()?.len();
                let kind = if is_read { page_type(file) } else { None };
                let kind = kind.unwrap_or_else(|| media_type(file));
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
                );
                Ok(Answer { head, body: Body::File(opened) })
            })
        };
        answer.unwrap_or_else(|error| Answer::failed(file, &error))
    }
}

/// Returns the media type of a file that is read as a page.
fn page_type(file: &Path) -> Option<&'static str> {
    if is_xhtml(file) {
        return Some("application/xhtml+xml");
    }
    is_page(file).then_some("text/html")
}

/// Returns the media type of a file that is not a page here.
fn media_type(file: &Path) -> &'static str {
    if has_extension(file, &["css"]) {
        "text/css"
    } else if has_extension(file, &["svg"]) {
        "image/svg+xml"
    } else {
        "application/octet-stream"
    }
}

/// Returns a page with the ids of another page, and without its links.
fn ids(job: &Job, kind: FileKind, html: &[u8]) -> String {
    let Ok(url) = Url::parse(&job.url) else { return String::new() };
    let options = ExtractOptions { ids: true, ..ExtractOptions::default() };
    let mut reader = PageReader::of_kind(kind, &url, None, options);
    reader.feed(html);
    let page = reader.finish(&url);
    let id = |id: &str| id.replace('&', "&amp;").replace('"', "&quot;");
    page.found.ids().map(|text| format!("<p id=\"{}\">\n", id(text))).collect()
}

/// Hands a response to a visit, as if it had come over a network.
fn feed(visit: &mut Visit, options: &Options, answer: Answer) {
    let _request = visit.request(options, false);
    visit.end_retries();
    let result = match answer.body {
        Body::Failed(error) => Err(error),
        Body::Text(text) => {
            let bytes = [answer.head.as_bytes(), text.as_bytes()].concat();
            receive(visit, &mut bytes.as_slice())
        }
        Body::File(file) => receive(visit, &mut answer.head.as_bytes().chain(file)),
    };
    // There is no retry, so the verdict is known.
    let _verdict = visit.judge(result);
}

fn receive(visit: &mut Visit, reader: &mut dyn Read) -> Result<(), FetchError> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = match reader.read(&mut buffer) {
            Ok(0) => return visit.receive_end().map(drop),
            Ok(length) => length,
            Err(error) => return visit.receive_error(&error).map(drop),
        };
        if let ControlFlow::Break(received) =
            visit.receive(buffer.get(..length).unwrap_or_default())
        {
            return received.map(drop);
        }
    }
}
