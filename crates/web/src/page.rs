//! A reader of pages, and of what else names other files: from bytes to links.

use memchr::memchr2;
use url::{Host, Url};

use crate::FetchError;
use crate::body::{ContentType, TextDecoder};
use crate::encoding::{Encoding, UTF_8};
use crate::links::{
    Element, ExtractOptions, LinkExtractor, MAX_TREE_BYTES, Manifest, PageLinks, StyleSheet,
    style_sheets_of_prolog,
};
use crate::sitemap::{SitemapEntry, SitemapParser};

/// A streaming reader of one page, which keeps only the links and, if wanted, the
/// text.
#[derive(Debug)]
pub struct PageReader {
    format: Format,
    /// The text read so far, if it is to be kept.
    kept: Option<Vec<u8>>,
    /// The sitemap that it is instead, if it names anything as one.
    sitemap: Option<Box<Sitemap>>,
    /// True if its end did not arrive.
    is_cut: bool,
}

/// The format of what is read, with its parser.
#[derive(Debug)]
enum Format {
    Html(TextDecoder, LinkExtractor, Prolog),
    /// A drawing in XML, which is read as if it stood in a page.
    Svg(TextDecoder, LinkExtractor, Prolog),
    Css(StyleSheet),
    Manifest(Manifest),
    Sitemap(Box<Sitemap>),
}

/// A sitemap, as far as it has arrived.
#[derive(Debug, Default)]
struct Sitemap {
    parser: SitemapParser,
    links: PageLinks,
    /// True if the images of pages are wanted.
    images: bool,
}

impl Sitemap {
    fn new(options: ExtractOptions) -> Box<Self> {
        Box::new(Self { images: options.images, ..Self::default() })
    }

    fn feed(&mut self, bytes: &[u8]) {
        let Self { parser, links, images } = self;
        // The entries before an error count, and nothing comes behind it.
        let _repeated_at_the_end =
            parser.feed(bytes, &mut |entry| add_entry(links, entry, *images));
    }

    fn finish(self, url: &Url, is_cut: bool) -> Page {
        let Self { parser, mut links, images } = self;
        if is_cut {
            return Page::of_links(links, url);
        }
        let problem = parser.finish(&mut |entry| add_entry(&mut links, entry, images)).err();
        Page { problem: problem.map(Box::new), ..Page::of_links(links, url) }
    }
}

/// The text at the beginning of an XML file, if that may name style sheets.
type Prolog = Option<Vec<u8>>;

/// The contents of a page that matter to a crawl.
#[derive(Debug)]
pub struct Page {
    /// The links of the page, and what else [`ExtractOptions`] asked for.
    pub found: PageLinks,
    /// A hash of the visible text of the page, if it was wanted. Pages that differ in
    /// markup and addresses only have the same one.
    pub content: Option<u64>,
    /// The base URL of the links.
    pub base: Url,
    /// The character encoding of the page; UTF-8 if it is not HTML.
    pub encoding: &'static Encoding,
    /// The text of the page in UTF-8, if it was to be kept: as much as a
    /// [`Tree`](crate::links::Tree) accepts, and a little more if the page is longer.
    pub text: Option<Vec<u8>>,
    /// True if it is HTML, and not another file that names files.
    pub is_html: bool,
    /// The reason for which a sitemap was not read to its end, or is none: its links are
    /// those before that.
    pub problem: Option<Box<FetchError>>,
}

/// A kind of file that can name other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A page.
    Html,
    /// A page in the form of XML.
    Xhtml,
    /// A drawing.
    Svg,
    /// A style sheet.
    Css,
    /// The manifest of a web app.
    Manifest,
    /// A sitemap.
    Sitemap,
}

impl FileKind {
    /// Returns the kind of a file of this type at `url`, if it is one whose links are
    /// wanted; a sitemap only if `may_be_sitemap` is true. Most servers do not know the
    /// type of a manifest or of a packed sitemap, so that its name counts as well.
    pub fn of(
        content_type: &ContentType,
        url: &str,
        options: ExtractOptions,
        may_be_sitemap: bool,
    ) -> Option<Self> {
        Some(match content_type.essence.as_str() {
            "application/xhtml+xml" => Self::Xhtml,
            _ if content_type.is_html() => Self::Html,
            "image/svg+xml" => Self::Svg,
            "text/css" if options.styles => Self::Css,
            "application/manifest+json" if options.relations => Self::Manifest,
            essence if options.relations && may_be_json(essence) && is_manifest(url) => {
                Self::Manifest
            }
            "application/gzip" | "application/x-gzip" | "text/plain" if may_be_sitemap => {
                Self::Sitemap
            }
            essence if may_be_sitemap && essence.ends_with("xml") => Self::Sitemap,
            // Servers that do not know the type of a packed file.
            "application/octet-stream" | "binary/octet-stream"
                if may_be_sitemap && is_packed(url) =>
            {
                Self::Sitemap
            }
            _ => return None,
        })
    }
}

impl PageReader {
    /// Creates a reader of the page at `url`. `charset` is the label of the
    /// character encoding in its `Content-Type` header.
    pub fn new(url: &Url, charset: Option<&str>, options: ExtractOptions) -> Self {
        let text = TextDecoder::new(charset, tld(url));
        let format = Format::Html(text, LinkExtractor::new(options), None);
        Self { format, kept: None, sitemap: None, is_cut: false }
    }

    /// Creates a reader of the file at `url`. `charset` is that of [`PageReader::new`].
    pub fn of_kind(
        kind: FileKind,
        url: &Url,
        charset: Option<&str>,
        options: ExtractOptions,
    ) -> Self {
        let prolog = options.styles.then(Vec::new);
        let format = match kind {
            FileKind::Html => return Self::new(url, charset, options),
            FileKind::Xhtml => {
                let text = TextDecoder::new(charset, tld(url));
                Format::Html(text, LinkExtractor::new(options).for_xml(), prolog)
            }
            FileKind::Svg => {
                // What a fragment means in a drawing is more than an id.
                let options = ExtractOptions { ids: false, ..options };
                let text = TextDecoder::new(charset, tld(url));
                Format::Svg(text, LinkExtractor::new(options), prolog)
            }
            FileKind::Css => Format::Css(StyleSheet::new(charset, options.details)),
            FileKind::Manifest => Format::Manifest(Manifest::default()),
            FileKind::Sitemap => Format::Sitemap(Sitemap::new(options)),
        };
        Self { format, kept: None, sitemap: None, is_cut: false }
    }

    /// Makes the reader take a page for a sitemap, if it names anything as one.
    pub fn allow_sitemap(&mut self, options: ExtractOptions) {
        self.sitemap = Some(Sitemap::new(options));
    }

    /// Makes the reader keep the text of the page, if it is HTML.
    pub fn keep_text(&mut self) {
        self.kept = Some(Vec::new());
    }

    /// Makes the reader hash the visible text of the page, if it is HTML.
    pub fn hash_content(&mut self) {
        if let Format::Html(_, links, _) = &mut self.format {
            links.hash_content();
        }
    }

    /// Notes that the end of the page did not arrive. What is incomplete there counts for
    /// nothing: half a URL would be another one.
    pub fn cut(&mut self) {
        self.is_cut = true;
    }

    /// Returns true if the file is HTML.
    pub fn is_html(&self) -> bool {
        matches!(self.format, Format::Html(..))
    }

    /// Returns true if the file is known to be a sitemap: an entry was found in it.
    pub fn is_sitemap(&self) -> bool {
        matches!(&self.format, Format::Sitemap(sitemap) if sitemap.links.links().len() > 0)
    }

    /// Reads the next bytes of the page. Their content coding must be decoded, and
    /// they may be cut anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        let Self { format, kept, sitemap, .. } = self;
        if let Some(sitemap) = sitemap {
            sitemap.feed(bytes);
        }
        match format {
            Format::Html(text, links, prolog) => {
                text.feed(bytes, &mut |text| read(text, links, prolog, kept));
            }
            Format::Svg(text, links, prolog) => {
                text.feed(bytes, &mut |text| read(text, links, prolog, &mut None));
            }
            Format::Css(css) => css.feed(bytes),
            Format::Manifest(manifest) => manifest.feed(bytes),
            Format::Sitemap(sitemap) => sitemap.feed(bytes),
        }
    }

    /// Returns the approximate memory of what is kept of the page, in bytes.
    pub fn memory(&self) -> usize {
        let links = match &self.format {
            Format::Html(_, links, _) | Format::Svg(_, links, _) => links.memory(),
            Format::Css(css) => css.memory(),
            Format::Manifest(manifest) => manifest.memory(),
            Format::Sitemap(sitemap) => sitemap.links.memory(),
        };
        let of_sitemap = self.sitemap.as_ref().map_or(0, |sitemap| sitemap.links.memory());
        links + of_sitemap + self.kept.as_ref().map_or(0, Vec::len)
    }

    /// Ends the page and returns its contents. `url` is its address.
    pub fn finish(self, url: &Url) -> Page {
        let is_html = self.is_html();
        let Self { format, mut kept, sitemap, is_cut } = self;
        let problem = match sitemap.map(|sitemap| sitemap.finish(url, is_cut)) {
            Some(sitemap) if sitemap.found.links().len() > 0 => return sitemap,
            sitemap => sitemap.and_then(|sitemap| sitemap.problem),
        };
        match format {
            Format::Html(text, mut links, mut prolog) => {
                let encoding =
                    text.finish(&mut |text| read(text, &mut links, &mut prolog, &mut kept));
                let content = links.content_hash();
                if is_cut {
                    links.cut();
                }
                let mut found = links.finish();
                add_style_sheets(&mut found, prolog.as_deref(), "<html");
                let base = found.base(url);
                Page { found, content, base, encoding, text: kept, is_html, problem }
            }
            Format::Svg(text, mut links, mut prolog) => {
                text.finish(&mut |text| read(text, &mut links, &mut prolog, &mut kept));
                if is_cut {
                    links.cut();
                }
                let mut found = links.finish();
                add_style_sheets(&mut found, prolog.as_deref(), "<svg");
                Page::of_links(found, url)
            }
            Format::Css(css) => Page::of_links(css.finish(is_cut), url),
            Format::Manifest(manifest) => Page::of_links(manifest.finish(), url),
            Format::Sitemap(sitemap) => sitemap.finish(url, is_cut),
        }
    }
}

impl Page {
    /// Creates the contents of a file at `url` that is no HTML.
    pub fn of_links(found: PageLinks, url: &Url) -> Self {
        let base = url.clone();
        let (is_html, problem) = (false, None);
        Self { found, content: None, base, encoding: UTF_8, text: None, is_html, problem }
    }
}

/// The length of the beginning of an XML file that is searched for style sheets, in bytes.
const MAX_PROLOG_LEN: usize = 4 * 1024;

/// Adds the style sheets that are named before the root element.
fn add_style_sheets(found: &mut PageLinks, prolog: Option<&[u8]>, root: &str) {
    let Some(prolog) = prolog else { return };
    let prolog = String::from_utf8_lossy(prolog);
    let (prolog, _) = prolog.split_once(root).unwrap_or((&prolog, ""));
    for href in style_sheets_of_prolog(prolog) {
        found.push(Element::Link, &href, None);
    }
}

/// Returns true for the types that servers give to JSON, and to files that they do not know.
fn may_be_json(essence: &str) -> bool {
    matches!(essence, "application/json" | "text/json" | "text/plain" | "application/octet-stream")
}

/// Returns true if a file at this address has a name that manifests have.
fn is_manifest(url: &str) -> bool {
    let path = path_of(url);
    path.ends_with(".webmanifest") || path.ends_with("manifest.json")
}

/// Returns true if a file at this address has a name that packed files have.
fn is_packed(url: &str) -> bool {
    path_of(url).ends_with(".gz")
}

/// Returns an address without its query and its fragment.
fn path_of(url: &str) -> &str {
    let end = memchr2(b'?', b'#', url.as_bytes());
    &url[..end.unwrap_or(url.len())]
}

fn tld(url: &Url) -> Option<&str> {
    match url.host() {
        Some(Host::Domain(name)) => name.trim_end_matches('.').rsplit('.').next(),
        _ => None,
    }
}

fn add_entry(links: &mut PageLinks, entry: SitemapEntry<'_>, images: bool) {
    match entry {
        SitemapEntry::Page(url) | SitemapEntry::Alternate(url) => {
            links.push(Element::Loc, url, None);
        }
        SitemapEntry::Image(url) if images => links.push(Element::Img, url, None),
        SitemapEntry::Image(_) => {}
        SitemapEntry::Sitemap(url) => links.push(Element::Sitemap, url, None),
        SitemapEntry::TooLong => links.leave_out(),
    }
}

fn read(text: &[u8], links: &mut LinkExtractor, prolog: &mut Prolog, kept: &mut Option<Vec<u8>>) {
    links.feed(text);
    if let Some(prolog) = prolog {
        let room = MAX_PROLOG_LEN.saturating_sub(prolog.len());
        prolog.extend_from_slice(&text[..text.len().min(room)]);
    }
    if let Some(kept) = kept
        && kept.len() <= MAX_TREE_BYTES
    {
        kept.extend_from_slice(text);
    }
}
