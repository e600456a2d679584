//! Parsers for the formats of the web, without any IO: HTTP/1.1, content codings,
//! character encodings, HTML, robots.txt, sitemaps and URLs.
//!
//! The parsers take bytes and return values. They know no crawl and no socket, and they
//! import no other crate of the workspace. The clock is read in one place only: by
//! [`http::retry_after`], when a response has no date.
//!
//! The rules of this crate:
//!
//! 1. **A response is parsed as it arrives** (streaming). Its bytes pass through
//!    the transfer coding ([`http`]), the content codings and the character
//!    encoding ([`body`]) and the tokenizer ([`html`]) to the link extractor
//!    ([`links`]). The result does not depend on how the bytes were cut, and only
//!    the links are kept.
//! 2. **Everything has a limit.** A limit that ends a fetch is a [`FetchError`] with
//!    a class. What else lies beyond a limit is left out.
//! 3. **Dependencies point one way.** A parser does not know its caller, and no
//!    two files import each other.
//!
//! Features, both on by default: `select` for CSS selectors; `tables` for what needs
//! large tables, which a program for a browser can do without: the content coding br,
//! character encodings other than UTF-8, and character references by name other than
//! those of XML.
//!
//! Read in the order in which a response passes through: [`http`], [`body`],
//! [`html`], [`links`]; then [`page`], which puts them together.

pub mod body;
#[cfg_attr(not(feature = "tables"), path = "utf_8.rs")]
pub mod encoding;
pub mod html;
pub mod http;
pub mod links;
pub mod page;
pub mod robots;
#[cfg_attr(not(feature = "select"), path = "no_select.rs")]
pub mod select;
pub mod sitemap;

mod address;
mod error;

pub use address::{
    Address, BaseUrl, LinkError, TOO_LONG, UrlCache, mask_passwords, remove_password, why_no_host,
    why_no_url,
};
pub use error::{ErrorClass, FetchError, cut, is_terminal_control, without_os_error};
