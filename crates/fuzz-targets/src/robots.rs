//! robots.txt.

use crawl_core::robots::{MOST_BYTES, MOST_SITEMAPS, Robots};
use url::Url;

use crate::split_text_line;

/// Reads a robots.txt and asks it: the first line is the path of a URL, the
/// rest is the file. Line ends are all the same, and where nothing is forbidden
/// everything is allowed.
pub fn robots(input: &[u8]) {
    let Some((path, file)) = split_text_line(input) else { return };
    let Ok(url) = Url::parse(&format!("http://site.test/{path}")) else { return };
    let robots = Robots::parse(file, "bot");
    assert!(robots.sitemaps().len() <= MOST_SITEMAPS);
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
        if other.len() <= MOST_BYTES {
            assert_eq!(Robots::parse(&other, "bot"), robots, "with {end:?} at the ends of lines");
        }
    }
}
