//! What pages and links ask of those who follow links: `nofollow`.
//!
//! Nobody has standardised it all; this is what Google documents. The word may
//! stand in a `meta` element or an `X-Robots-Tag` header, for all links of a
//! page and for all robots or the one it names; and in the `rel` of a single
//! link.

/// Whether a list of directives, such as the `content` of a `meta` element,
/// asks not to follow the links of the page.
pub(crate) fn forbid_following(directives: &str) -> bool {
    let mut words = directives.split(|c: char| c == ',' || c.is_ascii_whitespace());
    words.any(|word| is_one_of(word, &["nofollow", "none"]))
}

/// Whether an `X-Robots-Tag` header does: with the name of a robot and a colon
/// before its directives, it is for that one only.
pub(crate) fn header_forbids_following(value: &[u8], product_token: &str) -> bool {
    /// Directives that have a colon of their own.
    const WITH_VALUES: [&str; 4] =
        ["max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"];
    let value = String::from_utf8_lossy(value);
    match value.split_once(':') {
        Some((name, directives)) if is_name(name.trim()) && !is_one_of(name, &WITH_VALUES) => {
            name.trim().eq_ignore_ascii_case(product_token) && forbid_following(directives)
        }
        _ => forbid_following(&value),
    }
}

/// Whether the `rel` of a link asks not to follow it. Whoever marks a link as
/// paid for, or as written by visitors, asks for the same.
pub(crate) fn forbids_following(rel: &str) -> bool {
    rel.split_ascii_whitespace().any(|word| is_one_of(word, &["nofollow", "sponsored", "ugc"]))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(super::is_token_byte)
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|candidate| word.trim().eq_ignore_ascii_case(candidate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_may_ask_in_many_ways() {
        for yes in
            ["nofollow", "NoFollow", "noindex,nofollow", "noindex , none", "none", "a b nofollow"]
        {
            assert!(forbid_following(yes), "{yes}");
        }
        for no in ["", "follow", "all", "noindex", "nofollows", "no follow", "max-snippet:0"] {
            assert!(!forbid_following(no), "{no}");
        }
    }

    #[test]
    fn a_header_may_name_a_robot() {
        let header = |value: &str| header_forbids_following(value.as_bytes(), "crawl");
        for yes in ["nofollow", "noindex, none", "crawl: nofollow", " Crawl : noindex, nofollow"] {
            assert!(header(yes), "{yes}");
        }
        assert!(header("max-snippet: 20, nofollow"));
        assert!(header("unavailable_after: 25 Jun 2030 15:00:00 PST, nofollow"));
        assert!(header("noindex, max-snippet: 3, nofollow"));
        for no in ["googlebot: nofollow", "crawler: none", "crawl: noindex", ""] {
            assert!(!header(no), "{no}");
        }
        assert!(!header_forbids_following(b"bot: nofollow", ""));
        assert!(!header_forbids_following(b"\xff\xfe: follow", "crawl"));
    }

    #[test]
    fn a_link_may_ask_for_itself() {
        for yes in ["nofollow", "external NOFOLLOW", "ugc", "noopener sponsored"] {
            assert!(forbids_following(yes), "{yes}");
        }
        for no in ["", "noopener noreferrer", "nofollow,me", "follow"] {
            assert!(!forbids_following(no), "{no}");
        }
    }
}
