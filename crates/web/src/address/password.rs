//! Passwords in links, which are neither sent nor shown.

use std::borrow::Cow;

use url::Url;

/// Removes the name and the password from a URL that has a password. Returns true if it had
/// one. (A name alone is not a secret.)
pub fn remove_password(url: &mut Url) -> bool {
    let has_password = url.password().is_some();
    if has_password {
        // It fails only for URLs without a host, which have no password.
        let _ = url.set_password(None).and_then(|()| url.set_username(""));
    }
    has_password
}

/// Returns a text with asterisks in place of the password of each URL in it.
pub fn mask_passwords(text: &str) -> Cow<'_, str> {
    if !text.contains('@') {
        return Cow::Borrowed(text);
    }
    let mut masked = String::new();
    let mut rest = text;
    while let Some(slashes) = rest.find("//") {
        let after = rest[slashes..].trim_start_matches('/');
        masked.push_str(&rest[..rest.len() - after.len()]);
        let ends =
            |c: char| matches!(c, '/' | '\\' | '?' | '#' | '"' | '<' | '>') || c.is_whitespace();
        let authority = &after[..after.find(ends).unwrap_or(after.len())];
        rest = after;
        if let Some(host) = authority.rfind('@')
            && let Some((name, _)) = authority[..host].split_once(':')
        {
            masked.push_str(name);
            masked.push_str(":***");
            rest = &after[host..];
        }
    }
    masked.push_str(rest);
    Cow::Owned(masked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_masked_wherever_they_stand() {
        for (text, masked) in [
            ("http://a.test/", "http://a.test/"),
            ("http://me@a.test/", "http://me@a.test/"),
            ("http://me:word@a.test/x", "http://me:***@a.test/x"),
            ("//me:w:o@r@a.test", "//me:***@a.test"),
            ("see htp://:word@a.test, //b.test/c:d@e", "see htp://:***@a.test, //b.test/c:d@e"),
            ("http:///me:word@a.test", "http:///me:***@a.test"),
            ("mailto:me@a.test", "mailto:me@a.test"),
        ] {
            assert_eq!(mask_passwords(text), masked, "{text}");
        }
    }
}
