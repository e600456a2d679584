//! A parser of the lines of a robots.txt (RFC 9309 section 2.2).

/// A line with a known key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    pub(super) key: Key,
    pub(super) value: &'a [u8],
}

/// The key of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    Sitemap,
}

/// The keys as they are written, with the misspellings that Google's parser accepts.
/// None of the misspellings is one of `allow`, so accepting them only forbids more.
const KEYS: [(&[u8], Key); 13] = [
    (b"user-agent", Key::UserAgent),
    (b"useragent", Key::UserAgent),
    (b"user agent", Key::UserAgent),
    (b"allow", Key::Allow),
    (b"disallow", Key::Disallow),
    (b"dissallow", Key::Disallow),
    (b"dissalow", Key::Disallow),
    (b"disalow", Key::Disallow),
    (b"diasllow", Key::Disallow),
    (b"disallaw", Key::Disallow),
    (b"crawl-delay", Key::CrawlDelay),
    (b"sitemap", Key::Sitemap),
    (b"site-map", Key::Sitemap),
];

/// Returns the records of `file`, in their order. A line ends with a line feed, a
/// carriage return, or both.
pub(super) fn records(file: &[u8]) -> impl Iterator<Item = Record<'_>> + Clone {
    // Both together make an empty line, which is no record.
    file.split(|byte| matches!(byte, b'\r' | b'\n')).filter_map(record)
}

/// Parses a line. A comment at its end is ignored.
fn record(line: &[u8]) -> Option<Record<'_>> {
    let line = line.split(|&byte| byte == b'#').next()?.trim_ascii();
    KEYS.iter().find_map(|&(name, key)| {
        let (written, rest) = line.split_at_checked(name.len())?;
        let value = value(rest).filter(|_| written.eq_ignore_ascii_case(name))?;
        Some(Record { key, value })
    })
}

/// Returns the value that follows the key. The colon may be missing if the meaning
/// is clear: one word after a blank.
fn value(rest: &[u8]) -> Option<&[u8]> {
    let word = rest.trim_ascii_start();
    match word.strip_prefix(b":") {
        Some(value) => Some(value.trim_ascii_start()),
        None if word.len() == rest.len() || word.contains(&b' ') || word.contains(&b'\t') => None,
        None => Some(word),
    }
}
