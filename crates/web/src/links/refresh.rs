//! Address in a `meta` refresh, the redirect of an HTML page.

/// Returns the address in the `content` of a `meta http-equiv=refresh` (HTML
/// standard, section 4.2.5.3): a number, a separator, `url=`, and the address,
/// quoted or not. Without an address, the page only reloads itself.
pub(super) fn url(content: &str) -> Option<&str> {
    let blank = |c: char| c.is_ascii_whitespace();
    let content = content.trim_start_matches(blank);
    let rest = content.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == content.len() && !content.starts_with('.') {
        return None;
    }
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let separated = rest.trim_start_matches(blank);
    let rest = match separated.strip_prefix([';', ',']) {
        Some(rest) => rest.trim_start_matches(blank),
        None if separated.len() < rest.len() => separated,
        None => return None,
    };
    let address = match rest.get(..3) {
        Some(url) if url.eq_ignore_ascii_case("url") => {
            let after = rest[3..].trim_start_matches(blank);
            after.strip_prefix('=').map_or(rest, |address| address.trim_start_matches(blank))
        }
        _ => rest,
    };
    let address = match address.chars().next() {
        Some(quote @ ('"' | '\'')) => address[1..].split(quote).next().unwrap_or_default(),
        _ => address,
    };
    (!address.is_empty()).then_some(address)
}
