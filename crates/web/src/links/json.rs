//! Addresses in JSON: in import maps, in speculation rules, and in the manifest of a web
//! app.

use serde_json::Value;

/// The longest JSON that is searched for addresses, in bytes.
pub(super) const MAX_JSON_LEN: usize = 256 * 1024;

/// Returns the addresses in the manifest of a web app (Web Application Manifest, section 1):
/// its start page, its icons, its screenshots, and its shortcuts with their icons.
pub(super) fn of_manifest(json: &[u8]) -> Vec<String> {
    let manifest = parse(json);
    let images = |value: &Value| -> Vec<String> {
        ["icons", "screenshots"]
            .iter()
            .flat_map(|name| strings(items(value, name), "src"))
            .collect()
    };
    let mut urls = images(&manifest);
    urls.extend(strings([&manifest], "start_url"));
    urls.extend(strings(items(&manifest, "shortcuts"), "url"));
    urls.extend(items(&manifest, "shortcuts").flat_map(images));
    urls
}

/// Returns the addresses of the modules in an import map (HTML standard, section 8.1.6.2).
/// What ends in a slash is the beginning of addresses only.
pub(super) fn of_import_map(json: &[u8]) -> Vec<String> {
    let map = parse(json);
    let scopes = map["scopes"].as_object().into_iter().flat_map(|scopes| scopes.values());
    let imports = scopes.chain([&map["imports"]]).filter_map(Value::as_object).flatten();
    let modules = imports.filter(|(name, _)| !name.ends_with('/'));
    let urls = modules.filter_map(|(_, url)| url.as_str());
    let is_url = |url: &&str| {
        ["/", "./", "../", "http://", "https://"].iter().any(|start| url.starts_with(start))
    };
    urls.filter(is_url).map(str::to_owned).collect()
}

/// Returns the addresses that speculation rules list (HTML standard, section 7.6.1).
pub(super) fn of_speculation_rules(json: &[u8]) -> Vec<String> {
    let rules = parse(json);
    let lists = ["prefetch", "prerender"].into_iter().flat_map(|action| items(&rules, action));
    let urls = lists.flat_map(|rule| items(rule, "urls")).filter_map(Value::as_str);
    urls.map(str::to_owned).collect()
}

/// Returns `null` for what is too long or no JSON: browsers leave it, too.
fn parse(json: &[u8]) -> Value {
    let json = if json.len() > MAX_JSON_LEN { &[] } else { json };
    serde_json::from_slice(json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json)).unwrap_or_default()
}

/// Returns the items of an array in an object, none if it is not there.
fn items<'a>(object: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    object[name].as_array().into_iter().flatten()
}

/// Returns the strings of this name in objects, but for empty ones.
fn strings<'a>(
    objects: impl IntoIterator<Item = &'a Value>,
    name: &str,
) -> impl Iterator<Item = String> {
    let strings = objects.into_iter().filter_map(move |object| object[name].as_str());
    strings.filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_json_has_its_addresses() {
        let manifest = br#"{"name": "x", "start_url": "./?a", "scope": "/no",
            "icons": [{"src": "i.png", "sizes": "1x1"}, {}, 5, {"src": 7}, {"src": ""}],
            "screenshots": [{"src": "s.png"}], "related_applications": [{"url": "/no"}],
            "shortcuts": [{"name": "y", "url": "/new", "icons": [{"src": "n.png"}]}, {}]}"#;
        assert_eq!(of_manifest(manifest), ["i.png", "s.png", "./?a", "/new", "n.png"]);
        let map = br#"{"imports": {"a": "/a.js", "b/": "/b/", "c": "bare", "d": null, "e": "./e"},
            "scopes": {"/x/": {"f": "../f.js", "g": "https://g.test/"}, "/y/": 5},
            "integrity": {"/a.js": "sha384-no"}}"#;
        assert_eq!(of_import_map(map), ["../f.js", "https://g.test/", "/a.js", "./e"]);
        let rules = br#"{"prefetch": [{"urls": ["/one", 2]}, {"where": {"href_matches": "/no"}}],
            "prerender": [{"source": "list", "urls": ["two"]}], "tag": "no"}"#;
        assert_eq!(of_speculation_rules(rules), ["/one", "two"]);
    }

    #[test]
    fn what_is_no_such_json_has_none() {
        let deep = "[".repeat(100_000);
        let long = format!(r#"{{"start_url": "/{}"}}"#, "x".repeat(MAX_JSON_LEN));
        for json in ["", "{", "null", "[]", "5", r#"{"icons": {"16": "x.png"}}"#, &deep, &long] {
            assert_eq!(of_manifest(json.as_bytes()), [""; 0], "{:.20}", json);
            assert_eq!(of_import_map(json.as_bytes()), [""; 0], "{:.20}", json);
            assert_eq!(of_speculation_rules(json.as_bytes()), [""; 0], "{:.20}", json);
        }
        assert_eq!(of_manifest(b"\xef\xbb\xbf{\"start_url\": \"/x\"}"), ["/x"]);
    }
}
