//! The lint of contrast: figures are legible in every theme.
//!
//! WCAG 2.2 requires a contrast of 4.5 to 1 for text (1.4.3) and of 3 to 1 for
//! lines and marks (1.4.11); here it is 4.5 to 1 for both.

use std::io;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::Built;
use crate::book::Book;
use crate::lint::Finding;

const STYLES: &str = "book/figures.css";
const LOOKS: &str = "book/looks.css";
/// The selectors of mdBook's themes, and that of the dark theme without
/// JavaScript.
const THEMES: [&str; 6] = [".light", ".rust", ".coal", ".navy", ".ayu", "html:not(.js)"];
/// Colours of text and the grounds that they stand on, beside those of figures.
const ON_THE_PAGE: [(&str, &str); 5] = [
    ("--links", "--bg"),
    ("--links", "--quote-bg"),
    ("--fg", "--quote-bg"),
    ("--sidebar-fg", "--sidebar-bg"),
    ("--sidebar-active", "--sidebar-bg"),
];
/// The minimum contrast: level AA for text.
const MIN_CONTRAST: f64 = 4.5;

/// A colour: red, green and blue, each from 0 to 1.
type Colour = [f64; 3];

pub(super) fn check(book: &Book, built: &Built) -> io::Result<Vec<Finding>> {
    let read = |file| book.read(Path::new(file)).unwrap_or_default();
    let ours = read(STYLES) + &read(LOOKS);
    let styles = Styles { ours: rules(&ours), themes: rules(&built.read("css/variables.css")?) };
    let mut findings = Vec::new();
    for theme in THEMES {
        match styles.pairs(theme) {
            Some(pairs) => {
                for (what, contrast) in pairs.into_iter().filter(|pair| pair.1 < MIN_CONTRAST) {
                    let what = format!("{theme}: {what} has a contrast of only {contrast:.2}");
                    findings.push(Finding::new(Path::new(STYLES), 1, what));
                }
            }
            None => {
                let what = format!("{theme}: a colour is missing, or is written in a new way");
                findings.push(Finding::new(Path::new(STYLES), 1, what));
            }
        }
    }
    Ok(findings)
}

/// The rules of our stylesheets and of mdBook's themes.
#[derive(Debug)]
struct Styles {
    ours: Vec<Rule>,
    themes: Vec<Rule>,
}

impl Styles {
    /// Returns the pairs of foreground and background in a theme, with their
    /// contrasts; `None` if a colour is missing or not understood.
    fn pairs(&self, theme: &str) -> Option<Vec<(String, f64)>> {
        let of_page = |name| {
            let ours = value(&self.ours, theme, name);
            colour(ours.or_else(|| value(&self.themes, theme, name))?)
        };
        let foreground = of_page("--fg")?;
        let number = |selector, name| value(&self.ours, selector, name)?.parse().ok();
        let dim: f64 = number("figure .dim", "opacity")?;
        let soft: f64 = number("figure .soft", "fill-opacity")?;
        let mut pairs = Vec::new();
        let mut ground = of_page("--bg")?;
        // On the page, in a box, and in a box in a box.
        for boxes in 0..3 {
            let mut pair = |name: &str, colour| {
                let what = format!("{name} in {boxes} boxes");
                pairs.push((what, contrast(colour, ground)));
            };
            pair(".text", foreground);
            pair(".dim", mixed(foreground, ground, dim));
            for name in ["--figure-accent", "--figure-second", "--figure-third"] {
                pair(name, colour(value(&self.ours, theme, name)?)?);
            }
            ground = mixed(foreground, ground, soft);
        }
        for (front, back) in ON_THE_PAGE {
            let contrast = contrast(of_page(front)?, of_page(back)?);
            pairs.push((format!("{front} on {back}"), contrast));
        }
        Some(pairs)
    }
}

/// A rule of a stylesheet: its selectors and its declarations.
#[derive(Debug)]
struct Rule {
    selectors: Vec<String>,
    declarations: Vec<(String, String)>,
}

/// Parses the rules of a stylesheet, including those in `@media`.
fn rules(css: &str) -> Vec<Rule> {
    static COMMENT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?s)/\*.*?\*/").expect("a pattern"));
    static RULE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"([^{};]+)\{([^{}]*)\}").expect("a pattern"));
    let css = COMMENT.replace_all(css, "");
    let trimmed = |text: &str| text.trim().to_owned();
    let rule = |found: regex::Captures<'_>| Rule {
        selectors: found[1].split(',').map(trimmed).collect(),
        declarations: found[2]
            .split(';')
            .filter_map(|declaration| declaration.split_once(':'))
            .map(|(name, value)| (trimmed(name), trimmed(value)))
            .collect(),
    };
    RULE.captures_iter(&css).map(rule).collect()
}

/// Returns the value of a property under a selector, or else under `:root`.
fn value<'a>(rules: &'a [Rule], selector: &str, name: &str) -> Option<&'a str> {
    let under = |selector: &str| {
        let rules = rules.iter().filter(|rule| rule.selectors.iter().any(|it| it == selector));
        let mut declarations = rules.flat_map(|rule| &rule.declarations);
        declarations.rfind(|declaration| declaration.0 == name).map(|it| it.1.as_str())
    };
    under(selector).or_else(|| under(":root"))
}

/// Parses a colour, as `#rgb`, `#rrggbb` or `hsl()`.
fn colour(value: &str) -> Option<Colour> {
    if let Some(digits) = value.strip_prefix('#') {
        let width = digits.len() / 3;
        let part = |index: usize| {
            let part = u8::from_str_radix(digits.get(index * width..(index + 1) * width)?, 16);
            Some(f64::from(part.ok()?) / if width == 1 { 15.0 } else { 255.0 })
        };
        return Some([part(0)?, part(1)?, part(2)?]);
    }
    let parts = value.strip_prefix("hsl(")?.strip_suffix(')')?.split(',');
    let numbers = parts.map(|part| part.trim().trim_end_matches('%').parse::<f64>().ok());
    let [hue, saturation, lightness] = numbers.collect::<Option<Vec<_>>>()?[..] else {
        return None;
    };
    let (saturation, lightness) = (saturation / 100.0, lightness / 100.0);
    // CSS Color 4, section 7.1.
    let part = |turn: f64| {
        let k = (turn + hue / 30.0) % 12.0;
        let chroma = saturation * lightness.min(1.0 - lightness);
        lightness - chroma * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0)
    };
    Some([part(0.0), part(8.0), part(4.0)])
}

/// Mixes a colour with the one behind it (alpha blending).
fn mixed(front: Colour, back: Colour, opacity: f64) -> Colour {
    std::array::from_fn(|part| front[part] * opacity + back[part] * (1.0 - opacity))
}

/// Returns the contrast of two colours, from 1 (equal) to 21.
fn contrast(one: Colour, other: Colour) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// Returns the relative luminance of a colour (WCAG 2.2).
fn luminance(colour: Colour) -> f64 {
    let [red, green, blue] = colour.map(|part| match part {
        ..=0.04045 => part / 12.92,
        _ => ((part + 0.055) / 1.055).powf(2.4),
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[cfg(test)]
mod tests {
    use super::super::tests::built;
    use super::*;
    use crate::book::tests::book;

    const OURS: &str = ":root { --figure-accent: #005; --figure-second: #050;\n\
        --figure-third: #500; }\n\
        .coal, .navy, .ayu, html:not(.js) { --figure-accent: #aaf; /* a; */\n\
        --figure-second: #afa; --figure-third: #faa }\n\
        figure .dim { opacity: 0.8; } figure .soft { fill-opacity: 0.07 }";

    fn found(ours: &str) -> Vec<String> {
        let light = "{ --bg: hsl(0, 0%, 100%); --fg: #000; --links: #00c; --quote-bg: #eee;\n\
            --sidebar-bg: #fff; --sidebar-fg: #000; --sidebar-active: #00c }";
        let dark = "{ --bg: hsl(226, 23%, 11%); --fg: #fff; --links: #aaf; --quote-bg: #111;\n\
            --sidebar-bg: #000; --sidebar-fg: #fff; --sidebar-active: #aaf }";
        let themes = format!(
            ".light, .rust {light} .coal, .navy, .ayu {dark}\n\
             @media (prefers-color-scheme: dark) {{ html:not(.js) {dark} }}"
        );
        let (_folder, book) = book(&[(STYLES, ours)]);
        let built = built(&[("css/variables-5.css", &themes)]);
        check(&book, &built).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_low_contrast_is_a_finding() {
        assert_eq!(found(OURS), [""; 0]);
        let faint = found(&OURS.replace("#aaf", "#447"));
        assert_eq!(faint.len(), 4 * 3, "{faint:#?}");
        assert!(faint[0].contains(".coal: --figure-accent in 0 boxes"), "{faint:?}");
        let faint = found(&OURS.replace("opacity: 0.8", "opacity: 0.3"));
        assert!(faint.iter().all(|finding| finding.contains(".dim")), "{faint:?}");
        assert!(!faint.is_empty());
        let faint = found(&format!("{OURS} .navy {{ --links: #335 }}"));
        assert_eq!(faint.len(), 2, "{faint:#?}");
        assert!(faint[0].contains(".navy: --links on --bg"), "{faint:?}");
    }

    #[test]
    fn a_missing_or_unknown_colour_is_a_finding() {
        let forgotten = found(&OURS.replace(", html:not(.js)", ""));
        assert!(forgotten.iter().all(|finding| finding.contains("html:not(.js)")));
        assert!(!forgotten.is_empty());
        let unknown = found(&OURS.replace("#005", "midnightblue"));
        assert_eq!(unknown.len(), 2, "{unknown:?}");
        assert!(unknown[0].contains("is written in a new way"));
    }

    #[test]
    fn colours_are_parsed_and_compared() {
        let close = |one: Colour, other: Colour| {
            one.iter().zip(other).all(|(one, other)| (one - other).abs() < 0.003)
        };
        assert!(close(colour("#f80").unwrap(), colour("#ff8800").unwrap()));
        // From the table of examples in the CSS specification.
        assert!(close(colour("hsl(30, 100%, 50%)").unwrap(), [1.0, 0.5, 0.0]));
        assert!(close(colour("hsl(197, 37%, 96%)").unwrap(), [0.945, 0.964, 0.975]));
        assert_eq!((colour("red"), colour("hsl(1, 2%)"), colour("#é1")), (None, None, None));
        let contrast = contrast(colour("#767676").unwrap(), colour("#fff").unwrap());
        assert!((contrast - 4.54).abs() < 0.005, "{contrast}");
    }
}
