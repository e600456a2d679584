//! The encoding that a page says it has.

use std::sync::LazyLock;

use scraper::{Html, Selector};

use super::tags::Tags;
use crate::content::ContentType;

/// How far into a page its `meta` elements may say so (HTML standard, section
/// 13.2.3.2). They are in ASCII, whatever the rest is in.
const PRESCANNED: usize = 1024;

static META: LazyLock<Selector> = LazyLock::new(|| super::selector("meta"));

/// The label of the encoding that the first `meta` to name one names.
pub(super) fn declared(page: &[u8]) -> Option<String> {
    let start = &page[..page.len().min(PRESCANNED)];
    let text: String = start.iter().map(|&byte| char::from(byte)).collect();
    let lower_case = text.to_ascii_lowercase();
    let metas = Tags::new(&lower_case).filter(|tag| tag.name == b"meta" && !tag.is_end);
    let metas: String = metas.map(|tag| &text[tag.text]).collect();
    if metas.is_empty() {
        return None;
    }
    let label = Html::parse_fragment(&metas).select(&META).find_map(|meta| {
        let by_header = || {
            let equivalent = meta.attr("http-equiv")?;
            let is_type = equivalent.eq_ignore_ascii_case("content-type");
            is_type.then(|| ContentType::parse(meta.attr("content")?.as_bytes()).charset)?
        };
        meta.attr("charset").map(str::to_owned).or_else(by_header)
    })?;
    // Had it been UTF-16, nobody could have read that it says so.
    let is_utf_16 = label.trim().get(..6).is_some_and(|l| l.eq_ignore_ascii_case("utf-16"));
    Some(if is_utf_16 { "utf-8".to_owned() } else { label })
}
