//! What must hold of any input whatever, target by target.
//!
//! 1. A target takes bytes, uses `crawl-core` through its public doors, and
//!    panics when something does not hold. It never fails for any other reason.
//! 2. No input makes anything panic, and none makes it give more than its limit.
//! 3. What bytes mean does not depend on how they were cut.
//! 4. An error has one of the classes that its door documents, and a message
//!    that can be shown: one short line, and nothing a terminal obeys.
//! 5. What has a simpler twin does as the twin does.
//!
//! `cargo test -p fuzz-targets` runs every target on its seeds, which are in
//! `corpus/`. `.ci/fuzz` has libFuzzer make more of them, guided by which code
//! each one reaches.
//!
//! Where a target needs more than one thing, each has a line to itself and the
//! last has the rest, so that seeds can be written by hand.

mod admission;
mod content;
mod http;
mod join;
mod links;
mod robots;
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

/// A target, and its name.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
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

/// How long a message may be, in characters.
const LONGEST_MESSAGE: usize = 400;

/// Asserts that `error` is of one of `classes`, and can be shown.
fn assert_documented(error: &FetchError, classes: &[ErrorClass]) {
    assert!(classes.contains(&error.class), "not documented: {error:?}");
    assert!(error.message.chars().count() <= LONGEST_MESSAGE, "too long: {error:?}");
    assert!(!error.message.chars().any(char::is_control), "not to be shown: {error:?}");
}

/// The first line, and what follows it.
fn split_line(input: &[u8]) -> (&[u8], &[u8]) {
    match input.iter().position(|&byte| byte == b'\n') {
        Some(end) => (&input[..end], &input[end + 1..]),
        None => (input, b""),
    }
}

/// The first line, if it is text, and what follows it.
fn split_text_line(input: &[u8]) -> Option<(&str, &[u8])> {
    let (line, rest) = split_line(input);
    Some((str::from_utf8(line).ok()?, rest))
}

/// Whether `file:` is anywhere, as the URL standard reads it: without line ends
/// and tabs. Some file URLs fail a debug assertion of the `url` crate
/// (servo/rust-url#1149), so inputs with one are left out where links are joined.
fn has_file_url(input: &[u8]) -> bool {
    let is_read = |byte: &u8| !matches!(byte, b'\t' | b'\n' | b'\r');
    let read: Vec<u8> = input.iter().copied().filter(is_read).collect();
    read.windows(5).any(|word| word.eq_ignore_ascii_case(b"file:"))
}
