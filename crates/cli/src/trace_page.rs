//! The page of a trace: one HTML file that needs no other and loads nothing. It
//! holds the viewer and the trace.

use quick_xml::escape::escape;

const TEMPLATE: &str = include_str!("../viewer/template.html");
const STYLE: &str = include_str!("../viewer/viewer.css");
const SCRIPT: &str = include_str!("../viewer/viewer.js");

/// Makes the page of a trace. `title` is plain text.
pub(crate) fn trace_page(title: &str, json: &str) -> String {
    let mut page = String::with_capacity(TEMPLATE.len() + STYLE.len() + SCRIPT.len() + json.len());
    // In one pass: what is filled in may look like a mark itself.
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{") {
        let (mark, after) = after.split_once("}}").unwrap_or((after, ""));
        page += before;
        match mark {
            "title" => page += &escape(title),
            "style" => page += STYLE,
            // A URL in a trace must not end the element that holds it.
            "trace" => page += &json.replace("</", "<\\/").replace("<!--", "<\\u0021--"),
            "script" => page += SCRIPT,
            other => unreachable!("the template has a mark {other:?}"),
        }
        rest = after;
    }
    page + rest
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_a_trace_holds_ends_neither_its_element_nor_its_mark() {
        let json = r#"{"url": "</script><!-- {{script}} <b>"}"#;
        let page = trace_page("<a & b>", json);
        let (_, after) = page.split_once(r#"id="trace">"#).unwrap();
        let (inside, _) = after.split_once("</script>").unwrap();
        assert_eq!(inside, r#"{"url": "<\/script><\u0021-- {{script}} <b>"}"#);
        let read: Value = serde_json::from_str(inside).unwrap();
        assert_eq!(read["url"], "</script><!-- {{script}} <b>");
        assert!(page.contains("<title>&lt;a &amp; b&gt;</title>"), "{page}");
    }

    #[test]
    fn the_page_is_whole_and_loads_nothing() {
        let page = trace_page("t", "{}");
        assert!(page.contains(STYLE) && page.contains(SCRIPT));
        assert!(page.trim_end().ends_with("</html>"));
        // Neither the style nor the script ends its own element.
        assert_eq!(page.matches("</style>").count(), 1);
        assert_eq!(page.matches("</script>").count(), 2);
        for loading in ["src=", "@import", "url(", "fetch("] {
            assert!(!page.contains(loading), "{loading}");
        }
    }
}
