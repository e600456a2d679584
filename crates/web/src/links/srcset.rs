//! Addresses in a `srcset`, the list of alternative images.

/// Returns the addresses in a `srcset` (HTML standard, section 4.8.4.2.2 "parsing
/// a srcset attribute"). Each is followed by descriptors, up to a comma that is
/// not in parentheses. An address may contain commas, but not end in one.
pub(super) fn urls(srcset: &str) -> impl Iterator<Item = &str> {
    let blank = |c: char| c.is_ascii_whitespace();
    let mut rest = srcset;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| blank(c) || c == ',');
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(blank).unwrap_or(rest.len());
        let (url, after) = rest.split_at(end);
        let trimmed = url.trim_end_matches(',');
        rest = if trimmed.len() < url.len() { after } else { after_descriptors(after) };
        Some(trimmed)
    })
}

/// Returns the text behind the comma that ends the descriptors.
fn after_descriptors(text: &str) -> &str {
    let mut is_within = false;
    let end = text.find(|c| {
        match c {
            '(' => is_within = true,
            ')' => is_within = false,
            ',' => return !is_within,
            _ => {}
        }
        false
    });
    end.map_or("", |end| &text[end + 1..])
}
