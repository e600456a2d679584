//! Fast path for resolving links that are already normalised.

use url::{Position, Url};

/// An `http` or `https` base URL and the ends of its parts.
#[derive(Debug)]
pub(super) struct FastJoin<'a> {
    /// The base URL without its fragment.
    base: &'a str,
    origin_end: usize,
    directory_end: usize,
    path_end: usize,
}

impl<'a> FastJoin<'a> {
    pub(super) fn new(base: &'a Url) -> Option<Self> {
        if !matches!(base.scheme(), "http" | "https") {
            return None;
        }
        let path = &base[..Position::AfterPath];
        Some(Self {
            base: &base[..Position::AfterQuery],
            origin_end: base[..Position::BeforePath].len(),
            directory_end: path.rfind('/')? + 1,
            path_end: path.len(),
        })
    }

    /// Resolves `reference`, appends the URL to `url`, and returns the end of its
    /// origin. Returns `None` if the reference is not simple enough; then `url` may
    /// hold a part of a URL.
    pub(super) fn join(&self, reference: &str, url: &mut String) -> Option<usize> {
        let (kept, rest) = match reference.as_bytes() {
            [] | [b'#', ..] => (self.base, reference),
            [b'?', ..] => (&self.base[..self.path_end], reference),
            [b'/', b'/', ..] => return self.join_host(reference, url),
            [b'/', ..] => (&self.base[..self.origin_end], reference),
            _ if reference.starts_with("http") => return self.join_absolute(reference, url),
            _ => self.relative(reference)?,
        };
        if !is_plain(rest) {
            return None;
        }
        url.push_str(kept);
        url.push_str(rest);
        Some(self.origin_end)
    }

    /// Resolves a reference that begins with `http`: one with a scheme, or a
    /// relative path with such a name.
    fn join_absolute(&self, reference: &str, url: &mut String) -> Option<usize> {
        // The base is already normalised, and most links have the same host.
        if let Some(rest) = reference.strip_prefix(&self.base[..self.origin_end])
            && rest.starts_with('/')
        {
            url.push_str(if is_plain(rest) { reference } else { return None });
            return Some(self.origin_end);
        }
        let after_scheme = reference.strip_prefix("http:");
        let after_scheme = after_scheme.or_else(|| reference.strip_prefix("https:"))?;
        url.push_str(&reference[..reference.len() - after_scheme.len()]);
        join_authority(after_scheme, url)
    }

    /// Resolves a reference that begins with two slashes. The scheme is that of the
    /// base.
    fn join_host(&self, reference: &str, url: &mut String) -> Option<usize> {
        url.push_str(&self.base[..=self.base.find(':')?]);
        join_authority(reference, url)
    }

    /// Resolves the `./` and `../` at the beginning of a relative path. Returns what
    /// remains of the base and of the reference.
    fn relative<'r>(&'r self, reference: &'r str) -> Option<(&'r str, &'r str)> {
        let first = reference.split(['/', '?', '#']).next()?;
        if first.contains(':') {
            return None;
        }
        let (mut kept, mut rest) = (&self.base[..self.directory_end], reference);
        while rest.starts_with('.') {
            if let Some(after) = rest.strip_prefix("./") {
                rest = after;
            } else {
                rest = rest.strip_prefix("../")?;
                let parent = kept[..kept.len() - 1].rfind('/')?;
                if is_drive(&kept[parent + 1..]) {
                    return None;
                }
                // The root is its own parent.
                kept = &kept[..=parent.max(self.origin_end)];
            }
        }
        Some((kept, rest))
    }
}

/// Appends two slashes, a host and the rest to `url`, and returns the end of the
/// host.
fn join_authority(reference: &str, url: &mut String) -> Option<usize> {
    let rest = reference.strip_prefix("//")?;
    let host_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, rest) = rest.split_at(host_end);
    if !is_plain_host(host) || !is_plain(rest) {
        return None;
    }
    url.push_str("//");
    url.push_str(host);
    let origin_end = url.len();
    if !rest.starts_with('/') {
        url.push('/');
    }
    url.push_str(rest);
    Some(origin_end)
}

/// Returns true if the host is a name in lower-case ASCII: no IP address, no port,
/// nothing encoded.
fn is_plain_host(host: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.');
    let last_label = host.rsplit('.').next().unwrap_or_default();
    last_label.starts_with(|c: char| c.is_ascii_lowercase())
        && host.bytes().all(is_plain)
        && !host.contains("xn--")
}

/// Returns true for a drive letter such as `C:/`. In the standard, `..` keeps such
/// a segment in file URLs only. The `url` crate differs (servo/rust-url#1130), and
/// the result must be the same on both paths.
fn is_drive(segment: &str) -> bool {
    matches!(segment.as_bytes(), [letter, b':' | b'|', b'/'] if letter.is_ascii_alphabetic())
}

/// Returns true only if a path, query and fragment behind a slash are normalised:
/// there is nothing to encode, and no `.` or `..` segment.
fn is_plain(rest: &str) -> bool {
    let mut part = PATH;
    let mut previous = b'/';
    let rest = rest.as_bytes();
    for (n, &byte) in rest.iter().enumerate() {
        match byte {
            b'#' if part != FRAGMENT => part = FRAGMENT,
            b'?' if part == PATH => part = QUERY,
            b'.' if part == PATH && previous == b'/' => return false,
            // A percent-encoded dot.
            b'%' if part == PATH && matches!(rest.get(n + 1..), Some([b'2', b'e' | b'E', ..])) => {
                return false;
            }
            _ if PLAIN_IN[usize::from(byte)] & part == 0 => return false,
            _ => {}
        }
        previous = byte;
    }
    true
}

const PATH: u8 = 1;
const QUERY: u8 = 2;
const FRAGMENT: u8 = 4;

/// Table of the parts of a URL in which each byte stays as it is. Some rare bytes
/// are left out, although they would; the `url` crate handles them.
static PLAIN_IN: [u8; 256] = {
    const fn add(table: &mut [u8; 256], bytes: &[u8], parts: u8) {
        let mut n = 0;
        while n < bytes.len() {
            table[bytes[n] as usize] |= parts;
            n += 1;
        }
    }
    let mut table = [0; 256];
    add(&mut table, b"abcdefghijklmnopqrstuvwxyz", PATH | QUERY | FRAGMENT);
    add(&mut table, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", PATH | QUERY | FRAGMENT);
    add(&mut table, b"0123456789-._~!$&()*+,;=:@%/", PATH | QUERY | FRAGMENT);
    add(&mut table, b"?[]", QUERY | FRAGMENT);
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn join(base: &str, reference: &str) -> Option<String> {
        let base = Url::parse(base).unwrap();
        let mut url = String::new();
        FastJoin::new(&base).unwrap().join(reference, &mut url).map(|_| url)
    }

    #[test]
    fn usual_links_take_the_fast_path() {
        let base = "https://site.test:81/a/b?c";
        for (reference, url) in [
            ("", "https://site.test:81/a/b?c"),
            ("#d", "https://site.test:81/a/b?c#d"),
            ("?d=e&f[]=g", "https://site.test:81/a/b?d=e&f[]=g"),
            ("/d/e.html", "https://site.test:81/d/e.html"),
            ("d/e.html?f#g", "https://site.test:81/a/d/e.html?f#g"),
            ("./d", "https://site.test:81/a/d"),
            ("../../d", "https://site.test:81/d"),
            ("//other.test", "https://other.test/"),
            ("http://other.test/d?e", "http://other.test/d?e"),
            ("https://site.test:81/d%20e", "https://site.test:81/d%20e"),
        ] {
            assert_eq!(join(base, reference).as_deref(), Some(url), "{reference}");
        }
    }

    #[test]
    fn links_that_need_normalising_do_not_take_the_fast_path() {
        for reference in [
            "HTTP://site.test/",
            "http://Site.test/",
            "http://site.test:80/",
            "http://10.1/",
            "http://xn--a/",
            "mailto:a",
            "a/./b",
            "a/..",
            "a/%2E",
            "a b",
            "a\\b",
            "é",
            "?'",
            "#<",
        ] {
            assert_eq!(join("http://site.test/", reference), None, "{reference}");
        }
    }
}
