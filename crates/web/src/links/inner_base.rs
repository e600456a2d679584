//! References in a document that stands within another one, in the `srcdoc` of a frame, and
//! has a base of its own.

/// The length of a base, or of a `codebase`, beyond which the references are not looked
/// at, in bytes: each of them would become as long.
pub(super) const MAX_LEN: usize = 1024;

/// The maximum length that a base may give to a reference, in bytes: the bases of documents
/// within each other must not add up.
pub(super) const MAX_RESOLVED_LEN: usize = 2 * MAX_LEN;

/// Returns the reference that means to the document around what `href` means to a document
/// with this `base`. That may be relative itself, and then it is so to the base of the
/// document around (HTML standard, section 2.4.1). Returns `None` if the base is no
/// hierarchical URL, to which nothing is relative.
pub(super) fn resolve(base: &str, href: &str) -> Option<String> {
    // A blank within must not come to stand at the end, where it does not count.
    let (base, href) = (trimmed(base).replace(' ', "%20"), trimmed(href));
    let base_scheme = scheme(&base).map(str::to_ascii_lowercase);
    let is_slash = |c: char| matches!(c, '/' | '\\');
    let is_opaque = base_scheme.as_deref().is_some_and(|s| !matches!(s, "http" | "https"));
    if scheme(&href).is_some() {
        return Some(href);
    }
    match base_scheme.as_deref() {
        // Such a base does not count.
        Some("data" | "javascript") => return Some(href),
        _ if is_opaque => return None,
        _ => {}
    }
    let slashes = |text: &str| text.len() - text.trim_start_matches(is_slash).len();
    if slashes(&href) >= 2 {
        return Some(base_scheme.map_or(href.clone(), |scheme| format!("{scheme}:{href}")));
    }
    let origin = match base_scheme.map_or(0, |scheme| scheme.len() + 1) {
        0 if slashes(&base) < 2 => 0,
        host => {
            let host = host + slashes(&base[host..]);
            base[host..]
                .find(|c| is_slash(c) || matches!(c, '?' | '#'))
                .map_or(base.len(), |n| host + n)
        }
    };
    let (origin, rest) = base.split_at(origin);
    let without_fragment = rest.split('#').next().unwrap_or_default();
    let path = without_fragment.split('?').next().unwrap_or_default();
    Some(match href.chars().next() {
        None | Some('#') => format!("{origin}{without_fragment}{href}"),
        Some('?') => format!("{origin}{path}{href}"),
        Some('/' | '\\') => format!("{origin}{href}"),
        Some(_) => {
            let (folder, name) = path.split_at(path.rfind(is_slash).map_or(0, |n| n + 1));
            let is_folder = matches!(&*name.to_ascii_lowercase().replace("%2e", "."), "." | "..");
            let folder = if is_folder { format!("{path}/") } else { folder.to_owned() };
            let slash = if folder.is_empty() && !origin.is_empty() { "/" } else { "" };
            format!("{origin}{slash}{folder}{href}")
        }
    })
}

/// Returns a reference without the characters that a parser of URLs drops.
fn trimmed(text: &str) -> String {
    let text = text.trim_matches(|c: char| c <= ' ');
    text.replace(['\t', '\n', '\r'], "")
}

/// Returns the scheme of a reference, if it has one.
fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_scheme.then_some(scheme)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;

    /// A text of pieces that mean something to a parser of URLs.
    fn reference() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "/", "//h", "\\", "..", ".", "%2E", "a", "b:c", "?q", "#f", "d/", " ", "\n", "\u{fc}",
        ]);
        let start = prop::sample::select(vec![
            "",
            "",
            "",
            "/",
            "../",
            "//i:8",
            "http://j",
            "HTTPS://k/l",
            "data:m",
            "/\\n",
        ]);
        (start, prop::collection::vec(piece, 0..6))
            .prop_map(|(start, rest)| start.to_owned() + &rest.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// To resolve a reference and then the result is to resolve it twice.
        #[test]
        fn a_reference_is_resolved_as_the_standard_says(base in reference(), href in reference()) {
            let page = Url::parse("https://site.test/x/y/z?q#f").unwrap();
            // An invalid base and a link that is not a URL are left as they are.
            let Ok(inner) = page.join(&base) else { return Ok(()) };
            let Ok(expected) = inner.join(&href) else { return Ok(()) };
            prop_assume!(inner.has_host());
            let found = resolve(&base, &href).and_then(|found| page.join(&found).ok());
            prop_assert_eq!(found, Some(expected), "{} {}", base, href);
        }
    }

    #[test]
    fn a_base_of_another_kind_has_no_references() {
        assert_eq!(resolve("mailto:a@b", "c"), None);
        assert_eq!(resolve("mailto:a@b", "http://c").as_deref(), Some("http://c"));
        assert_eq!(resolve("javascript:0", "c").as_deref(), Some("c"));
    }
}
