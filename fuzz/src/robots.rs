//! The fuzz target of robots.txt.

use url::Url;
use web::robots::{MAX_BYTES, MAX_SITEMAPS, Robots};

use crate::split_text_line;

/// Parses a robots.txt. The first line of the input is the path of a URL, the rest is the
/// file. Asserts that all line ends are equivalent, and that a URL is only forbidden if
/// the file has a rule.
pub fn robots(input: &[u8]) {
    let Some((path, file)) = split_text_line(input) else { return };
    let Ok(url) = Url::parse(&format!("http://site.test/{path}")) else { return };
    let robots = Robots::parse(file, "bot");
    assert!(robots.sitemaps().len() <= MAX_SITEMAPS);
    for sitemap in robots.sitemaps() {
        assert!(matches!(sitemap.scheme(), "http" | "https"));
    }
    let is_allowed = robots.allows(&url);
    let lower = file.to_ascii_lowercase();
    let forbids = lower.windows(3).any(|word| matches!(word, b"low" | b"all"));
    assert!(is_allowed || forbids, "forbidden by nothing");
    assert!(is_allowed || url.path() != "/robots.txt");

    for end in ["\r", "\r\n", "\n\n"] {
        let lines: Vec<&[u8]> = file.split(|&byte| byte == b'\n').collect();
        let other = lines.join(end.as_bytes());
        if other.len() <= MAX_BYTES {
            assert_eq!(Robots::parse(&other, "bot"), robots, "with {end:?} at the ends of lines");
        }
    }
}
