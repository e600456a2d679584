//! Streaming link extractor: finds the links of an HTML page.
//!
//! 1. A page is fed in slices of any length and finished once. The result does
//!    not depend on where it was cut.
//! 2. For any page, the time is proportional to its length, and the memory to
//!    what is found. No tree is built: the time of a browser's tree builder
//!    grows with the square of the number of nested or misnested elements, and
//!    on an ordinary page it is ten times that of this extractor.
//! 3. A tag means what it means to browsers (see [`crate::html`]). The [`Tree`]
//!    is the test oracle for this, and serves what needs a tree.

mod collector;
mod content_hash;
mod css;
mod dedup_cache;
mod extractor;
mod header;
mod inner_base;
mod json;
mod link_attributes;
mod link_text;
mod manifest;
#[cfg(feature = "select")]
mod nesting;
mod page_links;
mod position;
mod refresh;
mod srcset;
mod style_sheet;
#[cfg(feature = "select")]
mod tree;
#[cfg(feature = "select")]
mod tree_sink;

pub use extractor::LinkExtractor;
pub use header::{of_link, of_refresh, of_speculation_rules};
pub use manifest::Manifest;
pub use page_links::{Element, Link, PageLinks};
pub use position::Position;
pub use style_sheet::{StyleSheet, style_sheets_of_prolog};
#[cfg(feature = "select")]
pub use tree::{MAX_NESTED, Tree};

/// The longest page of which a tree is built, in bytes.
pub const MAX_TREE_BYTES: usize = 10 * 1024 * 1024;

/// The memory limit for a tree, in bytes. The tree of an ordinary page is about ten
/// times as large as the page.
pub const MAX_TREE_MEMORY: usize = 64 * 1024 * 1024;

/// The maximum number of links of one page; more are only counted.
pub const MAX_LINKS: usize = 1 << 19;

/// Selection of what to extract besides hyperlinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtractOptions {
    /// Pages shown within the page: `iframe`, `frame`.
    pub frames: bool,
    /// Pages shown after the page: `meta` refresh.
    pub refresh: bool,
    /// `img`, `srcset`, `video poster`, `input src`, `background`, and what SVG loads.
    pub images: bool,
    /// `audio`, `video`, `source`, `track`, `embed`, `object`, `applet`.
    pub media: bool,
    /// `script src`, and import maps.
    pub scripts: bool,
    /// `link rel=stylesheet`, and what CSS in the page loads.
    pub styles: bool,
    /// Every other `link` that names a document, `cite`, `longdesc`, forms that are sent
    /// by `GET`, speculation rules, and addresses in the properties of the Open Graph
    /// protocol.
    pub relations: bool,
    /// The targets of fragments: `id`, and `name` of an `a` or a `map`; and the
    /// references to them in `usemap`.
    pub ids: bool,
    /// The text of each link, its line and its column.
    pub details: bool,
    /// The requests not to follow links: in a link's `rel` or a `meta` element.
    pub nofollow: bool,
}

impl ExtractOptions {
    /// Selects everything.
    pub const ALL: Self = Self {
        frames: true,
        refresh: true,
        images: true,
        media: true,
        scripts: true,
        styles: true,
        relations: true,
        ids: true,
        details: true,
        nofollow: true,
    };
}
