//! The lint of figures: every reader can read them, in light and dark themes, on a
//! phone, and with a screen reader.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::Finding;
use crate::book::{Book, PAGES};
use crate::markdown::Page;
use crate::measurements;

/// The greatest width of a drawing. On a phone its words then have 11 pixels.
const WIDEST: f64 = 440.0;

pub(super) fn check(book: &Book) -> Vec<Finding> {
    let mut findings: Vec<Finding> = book.pages.iter().flat_map(check_page).collect();
    let mut files = book.files(&Path::new(PAGES).join("figures"));
    files.extend(book.files(Path::new(measurements::FOLDER)));
    for file in files.iter().filter(|file| file.extension() == Some("svg".as_ref())) {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = book.read(file).unwrap_or_default();
        findings
            .extend(check_svg(&text, &name).into_iter().map(|what| Finding::new(file, 1, what)));
    }
    findings
}

/// Finds images without a description, and drawings in the page itself.
fn check_page(page: &Page) -> Vec<Finding> {
    static IMAGE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"!\[\s*\]|<img\b[^>]*>|<svg\b").expect("a pattern"));
    static ALTERNATIVE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"\balt\s*=\s*"[^"]*\w[^"]*""#).expect("a pattern"));
    let mut findings = Vec::new();
    for (number, line) in page.prose() {
        for image in IMAGE.find_iter(&line).map(|found| found.as_str()) {
            let what = match image {
                "<svg" => "a drawing in the page; draw it in figures/ and include it",
                _ if ALTERNATIVE.is_match(image) => continue,
                _ => "an image without a text for those who cannot see it",
            };
            findings.push(Finding::new(&page.path, number, what));
        }
    }
    findings
}

/// Returns the problems of a drawing.
fn check_svg(text: &str, name: &str) -> Vec<String> {
    static TAG: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?s)<[a-zA-Z][^>]*>").expect("a pattern"));
    static ID: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"\bid\s*=\s*"([^"]*)""#).expect("a pattern"));
    static WIDTH: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"viewBox="[-\d.]+ [-\d.]+ ([\d.]+)"#).expect("a pattern"));
    let mut found = Vec::new();
    let opening = TAG.find(text).map_or("", |tag| tag.as_str());
    let width = WIDTH.captures(opening).and_then(|width| width[1].parse::<f64>().ok());
    if width.is_some_and(|width| width > WIDEST) {
        found.push(format!("the figure is wider than {WIDEST}, and a phone shows it too small"));
    }
    for attribute in ["viewBox=\"", "role=\"img\""] {
        if !opening.contains(attribute) {
            found.push(format!("the figure has no {}", attribute.trim_end_matches("=\"")));
        }
    }
    let labels = format!("aria-labelledby=\"{name}-title {name}-desc\"");
    if !opening.contains(&labels) {
        found.push(format!("the figure does not say {labels}"));
    }
    for element in ["title", "desc"] {
        let described = format!(r#"<{element} id="{}-{element}">[^<]*\w"#, regex::escape(name));
        if !Regex::new(&described).is_ok_and(|described| described.is_match(text)) {
            found.push(format!("the figure has no <{element} id=\"{name}-{element}\">"));
        }
    }
    for id in ID.captures_iter(text).filter(|id| !id[1].starts_with(name)) {
        found.push(format!("the id {} is not prefixed by {name}", &id[1]));
    }
    if text.lines().any(|line| line.trim().is_empty()) {
        found.push("a blank line would end the figure in the middle".to_owned());
    }
    if text.contains("<style") {
        found.push("a stylesheet in a figure would hold for the whole page".to_owned());
    }
    for tag in TAG.find_iter(text) {
        found.extend(fixed_colours(tag.as_str()));
    }
    found
}

/// Returns the problems of an element's colours: those that do not follow the
/// theme of the page.
fn fixed_colours(tag: &str) -> Vec<String> {
    static COLOUR: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"\b(fill|stroke|color|background)\s*[=:]\s*["']?\s*([^;"'\s>]+)"#)
            .expect("a pattern")
    });
    const FOLLOWING: [&str; 6] =
        ["none", "currentColor", "inherit", "transparent", "context-stroke", "context-fill"];
    let follows = |value: &str| {
        FOLLOWING.contains(&value) || value.starts_with("var(") || value.starts_with("url(")
    };
    let colours = COLOUR.captures_iter(tag).filter(|colour| !follows(&colour[2]));
    colours
        .map(|colour| {
            format!("{} {} is fixed, and the page's colours are not", &colour[1], &colour[2])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{findings, finds};
    use super::*;

    const GOOD: &str = r#"<svg viewBox="0 0 10 10" role="img" aria-labelledby="loop-title loop-desc">
<title id="loop-title">The loop</title><desc id="loop-desc">Round and round.</desc>
<path class="ink" fill="none" stroke="currentColor" marker-end="url(#loop-arrow)"/>
<text style="fill: var(--fg)">fill: 1</text>
</svg>"#;

    fn found(svg: &str) -> Vec<String> {
        findings(check, &[("book/src/figures/loop.svg", svg)])
    }

    #[test]
    fn a_good_figure_has_no_findings() {
        assert_eq!(found(GOOD), [""; 0]);
    }

    #[test]
    fn a_figure_without_a_description_is_a_finding() {
        for (part, instead) in [
            ("role=\"img\"", ""),
            ("loop-title loop-desc", "loop-title"),
            (">The loop<", "><"),
            (">Round and round.<", "> <"),
        ] {
            assert_eq!(found(&GOOD.replace(part, instead)).len(), 1, "{part}");
        }
        assert!(found(&GOOD.replace("viewBox", "width"))[0].contains("has no viewBox"));
    }

    #[test]
    fn a_figure_that_a_phone_cannot_show_is_a_finding() {
        let of_width = |width: &str| found(&GOOD.replace("0 0 10 10", &format!("5 0 {width} 10")));
        assert_eq!(of_width("440"), [""; 0]);
        assert!(of_width("440.5")[0].contains("a phone"));
    }

    #[test]
    fn a_fixed_colour_is_a_finding() {
        for colour in ["fill=\"#fff\"", "style=\"stroke: red\"", "stroke='rgb(0,0,0)'"] {
            let svg = GOOD.replace("fill=\"none\"", colour);
            let found = found(&svg);
            assert!(found[0].contains("is fixed"), "{colour}: {found:?}");
        }
        assert!(found(&GOOD.replace("<path", "<style>a{}</style><path"))[0].contains("stylesheet"));
    }

    #[test]
    fn markup_that_breaks_the_page_is_a_finding() {
        assert!(found(&GOOD.replace("<path", "\n<path"))[0].contains("blank line"));
        assert!(found(&GOOD.replace("<path", "<path id=\"arrow\""))[0].contains("not prefixed"));
    }

    #[test]
    fn an_image_without_a_description_is_a_finding() {
        finds(check, "![](a.png)", "cannot see it");
        finds(check, "<img src=\"a.png\">", "cannot see it");
        finds(check, "<img src=\"a.png\" alt=\"\">", "cannot see it");
        finds(check, "<svg viewBox=\"0 0 1 1\">", "draw it in figures/");
        let page = "![a dog](a.png) <img alt=\"a cat\" src=\"b.png\">";
        assert_eq!(findings(check, &[("book/src/a.md", page)]), [""; 0]);
    }
}
