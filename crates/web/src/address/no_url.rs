//! Links that are no URL, and the reason why.

use percent_encoding::percent_decode_str;
use url::Url;

use super::LinkError;

/// The reason why a link is not requested although it may be a URL.
pub const TOO_LONG: &str = "the URL is longer than 64 KB";

/// Returns true if a link has a scheme that is not for this crawler: one of data, for
/// example, which may be long.
pub(crate) fn has_other_scheme(link: &[u8]) -> bool {
    let link = link.trim_ascii_start();
    let ends = |byte: &u8| !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'-' | b'.');
    let end = link.iter().position(ends).unwrap_or(link.len());
    let (scheme, rest) = link.split_at(end);
    let is_http = [&b"http"[..], b"https"].iter().any(|it| scheme.eq_ignore_ascii_case(it));
    rest.first() == Some(&b':') && !is_http
}

/// Returns the reason why a link that gave this error is a mistake; `None` if it is a
/// URL that is only not for this crawler.
pub fn why_no_url(base: &Url, reference: &str, error: LinkError) -> Option<String> {
    match error {
        LinkError::TooLong if has_other_scheme(reference.as_bytes()) => None,
        LinkError::TooLong => Some(TOO_LONG.into()),
        LinkError::Malformed => base.join(reference).err().map(|error| error.to_string()),
        LinkError::Scheme => {
            let (scheme, rest) = reference.trim_start().split_once(':')?;
            if scheme.eq_ignore_ascii_case("mailto") {
                return why_no_mail(rest);
            }
            let meant = MEANT.into_iter().find(|known| is_misspelt(scheme, known))?;
            Some(format!("the scheme {scheme:?} is unknown: did you mean {meant}?"))
        }
    }
}

/// Returns the reason why an address is a mistake although it is a URL: its host is the
/// scheme of another URL.
#[inline]
pub fn why_no_host(address: super::Address<'_>) -> Option<String> {
    let text = address.as_str().as_bytes();
    let is_scheme_at = |at: usize| text.get(at..at + 4) == Some(b"http");
    // Of nearly all addresses, these bytes tell.
    if !is_scheme_at("http://".len()) && !is_scheme_at("https://".len()) {
        return None;
    }
    let is_scheme = matches!(address.authority(), "http" | "https");
    is_scheme.then(|| "the URL has two schemes".into())
}

/// Returns the reason why what follows `mailto:` leads to no letter (RFC 6068, section 2).
/// Without an address, it may have other things to say in its query.
fn why_no_mail(rest: &str) -> Option<String> {
    let (rest, _) = rest.split_once('#').unwrap_or((rest, ""));
    let (to, query) = rest.trim_ascii().split_once('?').unwrap_or((rest.trim_ascii(), ""));
    if to.is_empty() && query.is_empty() {
        return Some("there is no mail address".into());
    }
    if to.starts_with("//") {
        return Some("a mail address has no slashes in front".into());
    }
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let is_address =
        |name: &str| ["to", "cc", "bcc"].iter().any(|it| name.eq_ignore_ascii_case(it));
    let further = pairs.filter(|(name, _)| is_address(name)).map(|(_, value)| value);
    let lists = [to].into_iter().chain(further);
    let addresses = lists.flat_map(|list| list.split(',')).map(str::trim_ascii);
    let decoded = addresses.map(|address| percent_decode_str(address).decode_utf8_lossy());
    let wrong = decoded.filter(|address| !address.is_empty()).find(|address| !is_mail(address))?;
    Some(format!("{wrong:?} is not a mail address"))
}

/// Returns true for a mail address (RFC 5322, section 3.4.1), without comments. The
/// name may have any character of other scripts (RFC 6531), or be in quotes.
fn is_mail(address: &str) -> bool {
    let Some((name, host)) = address.rsplit_once('@') else { return false };
    let is_of_name =
        |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c);
    let is_quoted = name.len() > 2 && name.starts_with('"') && name.ends_with('"');
    let is_literal = host.starts_with('[') && host.ends_with(']');
    let is_of_host = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-_".contains(c);
    let is_label = |label: &str| !label.is_empty() && label.chars().all(is_of_host);
    let has_name = is_quoted || (!name.is_empty() && name.chars().all(is_of_name));
    has_name && (is_literal || host.split('.').all(is_label))
}

/// The schemes that are looked for behind a misspelt one.
const MEANT: [&str; 3] = ["http", "https", "mailto"];

/// Schemes that look like a misspelt one, and are not.
const KNOWN: [&str; 5] = ["http", "https", "mailto", "shttp", "ftp"];

/// Returns true if a scheme is another one with one letter too many, too few or wrong,
/// or with two letters exchanged; or `hxxp`, which is written to be no link.
fn is_misspelt(scheme: &str, meant: &str) -> bool {
    let scheme = scheme.to_ascii_lowercase();
    if KNOWN.contains(&&*scheme) {
        return false;
    }
    if scheme.replace("xx", "tt") == meant {
        return true;
    }
    let (one, other) = (scheme.as_bytes(), meant.as_bytes());
    let before = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[before..], &other[before..]);
    match (one, other) {
        ([_, one @ ..], _) if one == other => true,
        (_, [_, other @ ..]) if one == other => true,
        ([_, one @ ..], [_, other @ ..]) if one == other => true,
        ([a, b, one @ ..], [c, d, other @ ..]) => (a, b, one) == (d, c, other),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, BaseUrl};

    #[test]
    fn mistakes_are_told_from_other_schemes() {
        let base = Url::parse("http://site.test/a/").unwrap();
        let why = |reference: &str| {
            let mut base_url = BaseUrl::new(&base, crate::encoding::UTF_8);
            let error = match base_url.join(reference) {
                Ok(address) => return why_no_host(address),
                Err(error) => error,
            };
            why_no_url(&base, reference, error)
        };
        for mistake in [
            "http://[bad",
            "http://exa mple.com/",
            "http://host:99999/",
            "http://",
            "htp://typo.test/",
            "htps://typo.test/",
            "hhttp://x",
            "ttp://x",
            "httpss://x",
            "htpt://x",
            "HTPP:x",
            "hxxps://x",
            "mailot:me@site.test",
            "mailto:",
            "mailto: ",
            "MAILTO:me",
            "mailto:me at site.test",
            "mailto:me@",
            "mailto:@site.test",
            "mailto:me@site..test",
            "mailto:me@@site.test",
            "mailto:me@site.test,you",
            "mailto:?cc=me",
            "mailto:me%20you@site.test",
            "mailto:Me <me@site.test>",
            "mailto://me@site.test",
            "http://https://x.test/",
            "https://http//x.test/",
        ] {
            assert!(why(mistake).is_some(), "{mistake}");
        }
        for link in [
            "x",
            "",
            "#x",
            "?x",
            "//other.test/",
            "///other.test/x",
            "////other.test",
            "http:/x",
            "https://x/",
            "mailto:me@site.test",
            "MailTo: me@site.test , you@site.test",
            "mailto:?subject=x&body=y",
            "mailto:?to=me@site.test",
            "mailto:me@localhost?subject=a,b",
            "mailto:me+you@b\u{fc}cher.test",
            "mailto:%22not%40me%22@site.test",
            "mailto:gorby%25kremvax@site.test",
            "mailto:me@[IPv6:2001:db8::1]",
            "tel:",
            "tel:+49",
            "data:,x",
            "javascript:void(0)",
            "ftp://x/",
            "sftp://x",
            "ssh://x",
            "about:blank",
            "sms:1",
            "magnet:?x",
            "web+app:x",
            "steam://x",
            "http://httpbin.test/",
            "git://x",
            "irc://x",
            "ws://x",
            "blob:x",
            "rtsp://x",
        ] {
            assert_eq!(why(link), None, "{link}");
        }
        let long = "x".repeat(100_000);
        assert_eq!(why_no_url(&base, &long, LinkError::TooLong).as_deref(), Some(TOO_LONG));
        let image = format!("data:image/png;base64,{long}");
        assert_eq!(why_no_url(&base, &image, LinkError::TooLong), None);
        let address = Address::of_normalised("http://http/");
        assert!(why_no_host(address).is_some());
    }
}
