//! The links of a page.
//!
//! 1. A page is fed in any slices and finished once; how it was cut cannot be
//!    seen.
//! 2. Reading takes time in proportion to the page and memory in proportion to
//!    what is found, whatever is in it. No tree is built: a browser's tree
//!    builder takes the square of the number of nested or misnested elements,
//!    and ten times the time of this on an ordinary page.
//! 3. What a tag means is what browsers take it for (see [`crate::html`]). The
//!    [`Tree`] is there to prove it, and for what needs a tree.

mod collector;
mod css;
mod extractor;
mod found;
mod link_text;
mod nesting;
mod place;
mod recent;
mod refresh;
mod sources;
mod srcset;
mod tree;

pub use extractor::LinkExtractor;
pub use found::{Element, Found, Link};
pub use place::Place;
pub use tree::{LARGEST_TREE, MOST_NESTED, Tree};

/// What to look for besides hyperlinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Pages within or after the page: `iframe`, `frame`, `meta` refresh.
    pub frames: bool,
    /// `img`, `srcset`, `video poster`, `input src`.
    pub images: bool,
    /// `audio`, `video`, `source`, `track`, `embed`, `object`.
    pub media: bool,
    /// `script src`.
    pub scripts: bool,
    /// `link rel=stylesheet`, and what CSS in the page loads.
    pub styles: bool,
    /// Every other `link`.
    pub relations: bool,
    /// What fragments can name: `id`, and `name` of an `a`.
    pub ids: bool,
    /// The text of each link, its line and its column.
    pub details: bool,
    /// Which links are not to be followed, by their `rel` or by a `meta`
    /// element.
    pub nofollow: bool,
}

impl Wanted {
    /// All there is.
    pub const ALL: Self = Self {
        frames: true,
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
