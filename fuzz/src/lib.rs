//! Fuzz targets: functions that check properties which must hold for every input.
//!
//! 1. A target takes bytes, calls the public interface of `web` or `crawl-core`, and
//!    panics if a property does not hold. It never panics for any other reason.
//! 2. No input causes a panic, or output above a limit.
//! 3. The result does not depend on how the bytes are cut into slices.
//! 4. An error has one of the documented classes, and a message that is safe to show:
//!    one short line without control characters.
//! 5. Code with a simpler reference implementation gives the same results as the
//!    reference.
//!
//! `cargo test` runs every target on its [seeds]. `.ci/fuzz` runs libFuzzer, which generates
//! more inputs, guided by code coverage.
//!
//! If a target needs several values, each of them is on a line of its own, and the last
//! one is the rest of the input. So seeds can be written by hand.

mod admission;
mod content;
mod http;
mod join;
mod links;
mod robots;
pub mod seeds;
mod sitemap;
mod slices;
mod text;
mod visit;

pub use admission::admission;
pub use content::content;
pub use http::http;
pub use join::join;
pub use links::links;
pub use robots::robots;
pub use sitemap::sitemap;
pub use text::text;
pub use visit::visit;

use crawl_core::{ErrorClass, FetchError};

/// A fuzz target with its name.
pub type Target = (&'static str, fn(&[u8]));

/// All fuzz targets.
pub const TARGETS: [Target; 9] = [
    ("admission", admission),
    ("content", content),
    ("http", http),
    ("join", join),
    ("links", links),
    ("robots", robots),
    ("sitemap", sitemap),
    ("text", text),
    ("visit", visit),
];

/// The maximum length of an error message in characters.
const MAX_MESSAGE_LEN: usize = 400;

/// Asserts that `error` has one of `classes`, and a message that is safe to show.
fn assert_documented(error: &FetchError, classes: &[ErrorClass]) {
    assert!(classes.contains(&error.class), "not documented: {error:?}");
    assert!(error.message.chars().count() <= MAX_MESSAGE_LEN, "too long: {error:?}");
    assert!(!error.message.chars().any(char::is_control), "not to be shown: {error:?}");
}

/// Splits the input into its first line and the rest.
fn split_line(input: &[u8]) -> (&[u8], &[u8]) {
    match input.iter().position(|&byte| byte == b'\n') {
        Some(end) => (&input[..end], &input[end + 1..]),
        None => (input, b""),
    }
}

/// Splits the input into its first line and the rest. Returns `None` if the line is not
/// text.
fn split_text_line(input: &[u8]) -> Option<(&str, &[u8])> {
    let (line, rest) = split_line(input);
    Some((str::from_utf8(line).ok()?, rest))
}

/// Returns true if the input contains `file:`. Line ends and tabs are ignored, as the
/// URL standard does. Some file URLs fail a debug assertion of the `url` crate
/// (servo/rust-url#1149), so targets that join links skip inputs with a file URL.
fn has_file_url(input: &[u8]) -> bool {
    let is_kept = |byte: &u8| !matches!(byte, b'\t' | b'\n' | b'\r');
    let kept: Vec<u8> = input.iter().copied().filter(is_kept).collect();
    kept.windows(5).any(|word| word.eq_ignore_ascii_case(b"file:"))
}
