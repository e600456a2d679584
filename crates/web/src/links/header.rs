//! Links in the head of a response: the headers `Link`, `Refresh` and `Speculation-Rules`.

use super::ExtractOptions;
use super::link_attributes::names_document;
use super::page_links::Element;
use super::{refresh, srcset};
use crate::http::text_of_header;

/// Returns the address in a header `Refresh`, if the options select it. It has the
/// grammar of a `meta` refresh (HTML standard, section 7.8).
pub fn of_refresh(value: &[u8], options: ExtractOptions) -> Option<(Element, String)> {
    let value = text_of_header(value);
    let url = refresh::url(&value).filter(|_| options.refresh)?;
    Some((Element::Meta, url.to_owned()))
}

/// Returns the addresses in a header `Speculation-Rules`, a list of strings (HTML standard,
/// section 7.6.2), if the options select them.
pub fn of_speculation_rules(value: &[u8], options: ExtractOptions) -> Vec<(Element, String)> {
    let value = String::from_utf8_lossy(value);
    let strings = value.split('"').skip(1).step_by(2).filter(|_| options.relations);
    let urls = strings.filter(|url| !url.is_empty());
    urls.map(|url| (Element::Header, url.to_owned())).collect()
}

/// Returns the addresses in a header `Link` (RFC 8288, section 3) that the options
/// select.
pub fn of_link(value: &[u8], options: ExtractOptions) -> Vec<(Element, String)> {
    let value = text_of_header(value);
    let (mut rest, mut links) = (&*value, Vec::new());
    while let Some((_, after)) = rest.split_once('<') {
        let Some((target, parameters)) = after.split_once('>') else { break };
        let end = end_of_parameters(parameters);
        let parameters_of_link = &parameters[..end];
        let relations = parameter(parameters_of_link, "rel").unwrap_or_default();
        let mut names = relations.split_ascii_whitespace();
        let is_style = names.any(|relation| relation.eq_ignore_ascii_case("stylesheet"));
        let is_wanted = if is_style { options.styles } else { options.relations };
        let is_relation = names_document(&relations);
        let target = target.trim();
        // With a set of images, it may be empty.
        if is_wanted && is_relation && !target.is_empty() {
            links.push((Element::Header, target.to_owned()));
        }
        if is_relation
            && options.images
            && let Some(images) = parameter(parameters_of_link, "imagesrcset")
        {
            links.extend(srcset::urls(&images).map(|url| (Element::Header, url.to_owned())));
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

/// Returns the value of the first parameter of this name.
fn parameter(parameters: &str, name: &str) -> Option<String> {
    let mut rest = parameters;
    while let Some((_, after)) = rest.split_once(';') {
        let end = after.find(['=', ';']).unwrap_or(after.len());
        let (found, after) = after.split_at(end);
        let value = after.strip_prefix('=').map(str::trim_start).unwrap_or_default();
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None if after.starts_with('=') => {
                let end = value.find(';').unwrap_or(value.len());
                (value[..end].trim_end().to_owned(), &value[end..])
            }
            None => (String::new(), after),
        };
        if found.trim().eq_ignore_ascii_case(name) {
            return Some(value);
        }
        rest = after;
    }
    None
}

/// Returns the text up to a quotation mark, and what follows that (RFC 9110, section 5.6.4).
fn unquoted(quoted: &str) -> (String, &str) {
    let (mut text, mut characters) = (String::new(), quoted.chars());
    while let Some(c) = characters.next() {
        match c {
            '"' => break,
            '\\' => text.extend(characters.next()),
            _ => text.push(c),
        }
    }
    (text, characters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_utf_8_are_kept_as_they_are() {
        for (value, expected) in [
            (&b"</caf\xe9?\xff>; title=\"\xe9\"; rel=next"[..], "/caf%E9?%FF"),
            (b"</caf\xc3\xa9>; rel=next", "/caf\u{e9}"),
        ] {
            let links = of_link(value, ExtractOptions::ALL);
            assert_eq!(links, [(Element::Header, expected.to_owned())]);
        }
        let refresh = of_refresh(b"0; url='/caf\xe9'", ExtractOptions::ALL);
        assert_eq!(refresh, Some((Element::Meta, "/caf%E9".to_owned())));
    }

    #[test]
    fn links_of_a_header_are_found_by_their_grammar() {
        for (value, expected) in [
            ("</x>; rel=next", "/x"),
            ("</x>;rel=\"next\", </y> ; REL = prev", "/x /y"),
            ("</x,y>; title=\"a, <b>\\\"; rel=x\"; rel=icon", "/x,y"),
            ("< /x >; rel=\"preconnect preload\"", "/x"),
            ("</no>; rel=preconnect, </no>; rel=\"dns-prefetch\", </x>; rel=stylesheet", "/x"),
            ("</x>; title=\"; rel=preconnect; \\\"\" ; rel = \"icon\"", "/x"),
            ("</x>; crossorigin; rel=preload", "/x"),
            ("</no>", ""),
            ("</no>; rel=", ""),
            ("</no", ""),
            ("", ""),
        ] {
            let found = of_link(value.as_bytes(), ExtractOptions::ALL);
            let found: Vec<_> = found.into_iter().map(|(_, target)| target).collect();
            assert_eq!(found.join(" "), expected, "{value}");
        }
        let images = ExtractOptions { images: true, ..ExtractOptions::default() };
        for (value, expected) in [
            (
                "</no>; rel=preload; as=image; imagesrcset=\"/x 1x, /y,z 2x\"; imagesizes=50vw",
                "/x /y,z",
            ),
            ("<>; rel=preload; ImageSrcSet=/x, </no>; rel=icon", "/x"),
            ("</no>; rel=preconnect; imagesrcset=/no", ""),
            ("</no>; imagesrcset=/no", ""),
        ] {
            let found = of_link(value.as_bytes(), images);
            let found: Vec<_> = found.into_iter().map(|(_, target)| target).collect();
            assert_eq!(found.join(" "), expected, "{value}");
        }
        let all = of_link(b"<>; rel=preload; imagesrcset=/x", ExtractOptions::ALL);
        assert_eq!(all, [(Element::Header, "/x".to_owned())]);
        assert!(of_link(b"</x>; rel=next", ExtractOptions::default()).is_empty());
        assert!(of_refresh(b"0; url=/x", ExtractOptions::ALL).is_some());
        assert!(of_refresh(b"5", ExtractOptions::ALL).is_none());
        let rules = of_speculation_rules(b"\"/x\", \"y\";a=1", ExtractOptions::ALL);
        assert_eq!(rules.iter().map(|(_, url)| &**url).collect::<Vec<_>>(), ["/x", "y"]);
        assert!(of_speculation_rules(b"\"/x\"", ExtractOptions::default()).is_empty());
        assert!(of_speculation_rules(b"5", ExtractOptions::ALL).is_empty());
    }
}
