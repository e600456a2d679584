//! Links in the head of a response: the headers `Link`, `Refresh` and `Speculation-Rules`.

use super::ExtractOptions;
use super::link_attributes::names_document;
use super::page_links::Element;
use super::refresh;

/// Returns the address in a header `Refresh`, if the options select it. It has the
/// grammar of a `meta` refresh (HTML standard, section 7.8).
pub fn of_refresh(value: &[u8], options: ExtractOptions) -> Option<(Element, String)> {
    let value = String::from_utf8_lossy(value);
    let url = refresh::url(&value).filter(|_| options.refresh)?;
    Some((Element::Meta, url.to_owned()))
}

/// Returns the addresses in a header `Speculation-Rules`, a list of strings (HTML standard,
/// section 7.6.2), if the options select them.
pub fn of_speculation_rules(value: &[u8], options: ExtractOptions) -> Vec<(Element, String)> {
    let value = String::from_utf8_lossy(value);
    let strings = value.split('"').skip(1).step_by(2).filter(|_| options.relations);
    strings.map(|url| (Element::Header, url.to_owned())).collect()
}

/// Returns the addresses in a header `Link` (RFC 8288, section 3) that the options
/// select.
pub fn of_link(value: &[u8], options: ExtractOptions) -> Vec<(Element, String)> {
    let value = String::from_utf8_lossy(value);
    let (mut rest, mut links) = (&*value, Vec::new());
    while let Some((_, after)) = rest.split_once('<') {
        let Some((target, parameters)) = after.split_once('>') else { break };
        let end = end_of_parameters(parameters);
        let relations = relations(&parameters[..end]);
        let mut names = relations.split_ascii_whitespace();
        let is_style = names.any(|relation| relation.eq_ignore_ascii_case("stylesheet"));
        let is_wanted = if is_style { options.styles } else { options.relations };
        if is_wanted && names_document(&relations) {
            links.push((Element::Header, target.trim().to_owned()));
        }
        rest = &parameters[end..];
    }
    links
}

/// Returns the offset of the comma behind the parameters of a link, or that of the end.
fn end_of_parameters(text: &str) -> usize {
    let mut is_quoted = false;
    let mut is_escaped = false;
    let end = text.find(|c| {
        let ends = c == ',' && !is_quoted;
        is_quoted ^= c == '"' && !is_escaped;
        is_escaped = c == '\\' && is_quoted && !is_escaped;
        ends
    });
    end.unwrap_or(text.len())
}

/// Returns the relations of a link: the first parameter `rel` counts.
fn relations(parameters: &str) -> String {
    let named = parameters.split(';').filter_map(|parameter| parameter.split_once('='));
    let rel = named.into_iter().find(|(name, _)| name.trim().eq_ignore_ascii_case("rel"));
    rel.map(|(_, value)| value.trim().trim_matches('"').to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_a_header_are_found_by_their_grammar() {
        for (value, expected) in [
            ("</x>; rel=next", "/x"),
            ("</x>;rel=\"next\", </y> ; REL = prev", "/x /y"),
            ("</x,y>; title=\"a, <b>\\\"; rel=x\"; rel=icon", "/x,y"),
            ("< /x >; rel=\"preconnect preload\"", "/x"),
            ("</no>; rel=preconnect, </no>; rel=\"dns-prefetch\", </x>; rel=stylesheet", "/x"),
            ("</no>", ""),
            ("</no>; rel=", ""),
            ("</no", ""),
            ("", ""),
        ] {
            let found = of_link(value.as_bytes(), ExtractOptions::ALL);
            let found: Vec<_> = found.into_iter().map(|(_, target)| target).collect();
            assert_eq!(found.join(" "), expected, "{value}");
        }
        assert!(of_link(b"</x>; rel=next", ExtractOptions::default()).is_empty());
        assert!(of_refresh(b"0; url=/x", ExtractOptions::ALL).is_some());
        assert!(of_refresh(b"5", ExtractOptions::ALL).is_none());
        let rules = of_speculation_rules(b"\"/x\", \"y\";a=1", ExtractOptions::ALL);
        assert_eq!(rules.iter().map(|(_, url)| &**url).collect::<Vec<_>>(), ["/x", "y"]);
        assert!(of_speculation_rules(b"\"/x\"", ExtractOptions::default()).is_empty());
        assert!(of_speculation_rules(b"5", ExtractOptions::ALL).is_empty());
    }
}
