//! The `nofollow` directive, by which pages and links ask crawlers not to follow
//! links.
//!
//! No standard defines all of it; this module follows Google's documentation. The
//! directive may be in a `meta` element or in an `X-Robots-Tag` header, for all
//! links of a page and for all robots or for the one that is named; or in the `rel`
//! attribute of a single link.

use std::mem;

/// The directives that have a value behind a colon.
const WITH_VALUES: [&str; 4] =
    ["max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"];

/// Returns true if a list of directives, such as the `content` of a `meta` element,
/// asks not to follow the links of the page.
pub(crate) fn directives_forbid_following(directives: &str) -> bool {
    let words = directives.split(|c: char| c == ',' || c.is_ascii_whitespace());
    let mut is_value = false;
    words.filter(|word| !word.is_empty()).any(|word| {
        // `max-image-preview: none`
        let name = word.strip_suffix(':');
        let begins_value = name.is_some_and(|name| is_one_of(name, &WITH_VALUES));
        !mem::replace(&mut is_value, begins_value) && is_one_of(word, &["nofollow", "none"])
    })
}

/// Returns true if an `X-Robots-Tag` header asks the robot `product_token` not to
/// follow the links of the page. A header that begins with the name of a robot and a
/// colon is for that robot only.
pub fn header_forbids_following(value: &[u8], product_token: &str) -> bool {
    let value = String::from_utf8_lossy(value);
    match value.split_once(':') {
        Some((name, directives)) if is_name(name.trim()) && !is_one_of(name, &WITH_VALUES) => {
            name.trim().eq_ignore_ascii_case(product_token)
                && directives_forbid_following(directives)
        }
        _ => directives_forbid_following(&value),
    }
}

/// Returns true if the `rel` attribute of a link asks not to follow it. The marks
/// for a paid link (`sponsored`) and for user-generated content (`ugc`) ask for the
/// same.
pub(crate) fn rel_forbids_following(rel: &str) -> bool {
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
    fn a_page_may_forbid_following_in_many_ways() {
        for yes in [
            "nofollow",
            "NoFollow",
            "noindex,nofollow",
            "noindex , none",
            "none",
            "a b nofollow",
            "max-image-preview: none, none",
            "max-snippet: 3 nofollow",
        ] {
            assert!(directives_forbid_following(yes), "{yes}");
        }
        for no in [
            "",
            "follow",
            "all",
            "noindex",
            "nofollows",
            "no follow",
            "max-snippet:0",
            "max-image-preview: none",
            "noindex, Max-Image-Preview: none, noarchive",
        ] {
            assert!(!directives_forbid_following(no), "{no}");
        }
    }

    #[test]
    fn a_header_may_be_for_one_robot_only() {
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
    fn a_single_link_may_forbid_following() {
        for yes in ["nofollow", "external NOFOLLOW", "ugc", "noopener sponsored"] {
            assert!(rel_forbids_following(yes), "{yes}");
        }
        for no in ["", "noopener noreferrer", "nofollow,me", "follow"] {
            assert!(!rel_forbids_following(no), "{no}");
        }
    }
}
