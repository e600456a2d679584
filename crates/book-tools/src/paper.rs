//! The book as PDF and as EPUB, from its print page.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::{Captures, Regex};

/// The colours of figures on paper, and their classes, for pictures that stand alone.
const FIGURE_STYLE: &str = "svg{color:#1d232a;font-family:sans-serif}\
.text{fill:#1d232a}.dim{fill:#1d232a;opacity:.85}.halo{stroke:#fff;stroke-width:5;paint-order:stroke}\
.ink,.arrow{fill:none;stroke:#1d232a;stroke-width:1.3}.accent{fill:none;stroke:#0b4f8a;stroke-width:2}\
.second{fill:none;stroke:#8f3800;stroke-width:2}.third{fill:none;stroke:#5d2a8c;stroke-width:2}\
.soft{fill:#1d232a;fill-opacity:.07}.accent-fill{fill:#0b4f8a}.second-fill{fill:#8f3800}.third-fill{fill:#5d2a8c}";

/// Names of SVG as mdBook writes them, in small letters, and as they are in a file.
const NAMES: [(&str, &str); 6] = [
    ("viewbox=", "viewBox="),
    ("markerwidth=", "markerWidth="),
    ("markerheight=", "markerHeight="),
    ("refx=", "refX="),
    ("refy=", "refY="),
    ("clippath", "clipPath"),
];

/// The style of the EPUB: its reader has a type of its own.
const EPUB_STYLE: &str = "pre{white-space:pre-wrap;font-size:.8em}p.file{font-family:monospace;font-size:.8em;margin-bottom:0}\
figure{margin:1em 0}img{width:30em;max-width:100%}figcaption{font-size:.9em;text-align:center}\
.scene-head{display:none}.scene-lanes ol{list-style:none;padding:0}.scene-name{font-weight:bold}.scene-lanes small{font-size:1em}\
table{font-size:.85em}aside{margin:1em;font-size:.9em}blockquote{margin:1em}";

/// The style of the PDF beside that of the print page: numbers below the pages.
const PDF_STYLE: &str = "<style>@page{margin:18mm;@bottom-center{content:counter(page);font-family:sans-serif;font-size:9pt}}\
.contents{break-after:page}.contents p{margin:.6em 0 0;font-weight:bold}.contents li{list-style:none}</style>";

/// Writes `book.pdf` (with Chromium) and `book.epub` (with pandoc) into `folder`, and leaves
/// what else is there as it is.
///
/// # Errors
/// When a program is missing or fails, or a file cannot be written.
pub fn write(root: &Path, folder: &Path) -> io::Result<bool> {
    fs::create_dir_all(folder)?;
    let folder = folder.canonicalize()?;
    // What is between is in the folder, too: a Chromium that is a snap sees no /tmp.
    let between = tempfile::tempdir_in(&folder)?;
    let built = between.path().join("html");
    run(Command::new("mdbook").arg("build").arg(root.join("book")).arg("--dest-dir").arg(&built))?;
    let print = built.join("print.html");
    let page = with_parts(&fs::read_to_string(&print)?, &summary_of(root)?);
    fs::write(&print, page.replacen("<main>", &format!("<main>{PDF_STYLE}"), 1))?;

    let chromium = std::env::var_os("CHROMIUM").unwrap_or_else(|| "chromium".into());
    let mut to_pdf = Command::new(chromium);
    to_pdf.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]);
    to_pdf.arg(format!("--print-to-pdf={}", folder.join("book.pdf").display()));
    run(to_pdf.arg("--generate-pdf-document-outline").arg(format!("file://{}", print.display())))?;

    let page = with_pictures(&main_of(&page), between.path())?;
    let (source, style) = (between.path().join("epub.html"), between.path().join("epub.css"));
    fs::write(&source, page)?;
    fs::write(&style, EPUB_STYLE)?;
    let mut to_epub = Command::new("pandoc");
    to_epub.args(["--from=html", "--to=epub3", "--toc", "--toc-depth=2", "--epub-chapter-level=1"]);
    to_epub.args(["--metadata", "title=The same crawl, four ways of waiting"]);
    to_epub.args(["--metadata", "lang=en"]).arg("--css").arg(&style);
    to_epub.arg("--epub-cover-image").arg(root.join("book/src/social-card.png"));
    to_epub.arg("--output").arg(folder.join("book.epub")).arg(&source).current_dir(&between);
    run(&mut to_epub)?;
    println!("written to {}: book.pdf, book.epub", folder.display());
    Ok(true)
}

/// A heading of the list of pages: its name, and the titles of its pages.
type Part = (String, Vec<String>);

/// Returns the parts of the book with the titles of their pages. Those before the first
/// part have none.
fn summary_of(root: &Path) -> io::Result<Vec<Part>> {
    Ok(parts(&fs::read_to_string(root.join("book/src/SUMMARY.md"))?))
}

fn parts(summary: &str) -> Vec<Part> {
    let mut parts = vec![(String::new(), Vec::new())];
    for line in summary.lines().skip(1) {
        let title = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        match (line.strip_prefix("# "), title, parts.last_mut()) {
            (Some(name), ..) => parts.push((name.to_owned(), Vec::new())),
            (None, Some((title, _)), Some((_, titles))) => titles.push(title.to_owned()),
            _ => {}
        }
    }
    parts
}

/// Returns the print page with a list of contents, and with the name of each part below the
/// title of its first page. On the screen both are in the sidebar.
fn with_parts(page: &str, parts: &[Part]) -> String {
    let heading = Regex::new(r#"(?s)<h1 id="([^"]*)"><a[^>]*>(.*?)</a></h1>"#).expect("a pattern");
    let part_of = |title: &str| {
        let of = parts.iter().find(|(_, titles)| titles.first().is_some_and(|it| it == title));
        of.map(|(name, _)| name).filter(|name| !name.is_empty())
    };
    let mut contents = String::from("<div class=\"contents\"><h1>Contents</h1><ul>");
    let page = heading.replace_all(page, |found: &Captures<'_>| {
        let (whole, id, title) = (&found[0], &found[1], &found[2]);
        let part = part_of(title);
        if let Some(part) = part {
            contents += &format!("</ul><p>{part}</p><ul>");
        }
        contents += &format!("<li><a href=\"#{id}\">{title}</a></li>");
        let below = part.map(|part| format!("<p class=\"part\"><i>Part: {part}</i></p>"));
        format!("{whole}{}", below.unwrap_or_default())
    });
    page.replacen("<main>", &format!("<main>{contents}</ul></div>"), 1)
}

/// Runs a command that has to succeed.
fn run(command: &mut Command) -> io::Result<()> {
    let name = PathBuf::from(command.get_program());
    let failed = |why: String| io::Error::other(format!("{}: {why}", name.display()));
    let status = command.status().map_err(|error| failed(error.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(status.to_string())) }
}

/// Returns the text of the page without its frame and its scripts. What is folded is open:
/// a book that is printed or on a reader may not unfold.
fn main_of(page: &str) -> String {
    let begin = page.find("<main>").map_or(0, |at| at + "<main>".len());
    let end = page.rfind("</main>").unwrap_or(page.len());
    // Lines that the page hides, what is for the screen only, and contents that the EPUB has
    // of its own.
    let script = Regex::new(
        r#"(?s)<details class="screen-only".*?</details>|<script.*?</script>|</?details[^>]*>|<span class="boring">.*?</span>|<style>.*?</style>|<div class="contents">.*?</div>"#,
    )
    .expect("a pattern");
    let summary = Regex::new(r"(?s)<summary>(.*?)</summary>").expect("a pattern");
    // Pandoc keeps one picture of a figure, and a heading is no link on paper.
    let figure = Regex::new(r"<(/?)figure[^>]*>").expect("a pattern");
    let caption = Regex::new(r"<(/?)figcaption[^>]*>").expect("a pattern");
    let heading = Regex::new(r#"(?s)<a class="header"[^>]*>(.*?)</a>"#).expect("a pattern");
    let main = script.replace_all(&page[begin..end], "");
    let main = summary.replace_all(&main, "<p><b>$1</b></p>");
    let main = figure.replace_all(&main, "<${1}div>");
    let main = caption.replace_all(&main, "<${1}p>");
    heading.replace_all(&main, "$1").into_owned()
}

/// Writes each drawing of a page to a file of its own, and returns the page with pictures
/// in their place.
fn with_pictures(page: &str, folder: &Path) -> io::Result<String> {
    let drawing = Regex::new(r"(?s)<svg\b.*?</svg>").expect("a pattern");
    let title = Regex::new(r"(?s)<title[^>]*>(.*?)</title>").expect("a pattern");
    fs::create_dir_all(folder.join("pictures"))?;
    let mut written = Vec::new();
    let page = drawing.replace_all(page, |found: &Captures<'_>| {
        let svg = &found[0];
        let name = format!("pictures/{}.svg", written.len() + 1);
        let described =
            title.captures(svg).map_or("", |title| title.get(1).map_or("", |it| it.as_str()));
        let picture =
            format!("<img src=\"{name}\" alt=\"{}\">", described.trim().replace('"', "'"));
        let own = svg.replacen('>', &format!("><style>{FIGURE_STYLE}</style>"), 1);
        let own = own.replacen("<svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"", 1);
        let cased = |own: String, (small, name): &(&str, &str)| own.replace(small, name);
        let own = NAMES.iter().fold(own, cased);
        written.push((name, own.replace("var(--bg)", "#fff").replace("var(--fg)", "#1d232a")));
        picture
    });
    for (name, svg) in &written {
        fs::write(folder.join(name), svg)?;
    }
    Ok(page.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "needs mdBook and Chromium"]
    fn a_folder_of_the_user_keeps_what_is_in_it() {
        let (root, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(root.path().join("book/src")).unwrap();
        fs::write(root.path().join("book/book.toml"), "[book]\n").unwrap();
        fs::write(root.path().join("book/src/SUMMARY.md"), "# Summary\n\n[A](a.md)\n").unwrap();
        fs::write(root.path().join("book/src/a.md"), "# A\n").unwrap();
        fs::create_dir(folder.path().join("html")).unwrap();
        let files = ["html/a.txt", "epub.html", "epub.css"];
        for file in files {
            fs::write(folder.path().join(file), "mine").unwrap();
        }
        // There is no picture for the EPUB, at the end, and perhaps no pandoc.
        let error = write(root.path(), folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("pandoc: "), "{error}");
        for file in files {
            assert_eq!(fs::read_to_string(folder.path().join(file)).unwrap(), "mine");
        }
        let names = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name());
        let names: Vec<_> = names.collect();
        assert_eq!(names.len(), files.len() + 1, "the PDF and no other is new: {names:?}");
    }

    #[test]
    fn the_page_is_left_without_frame_scripts_and_folds() {
        let page = "<body><main><h1><a class=\"header\" href=\"#a\">A</a></h1>\
                    <details open><summary>An <b>answer</b></summary>42</details>\
                    <figure class=\"x\">f<figcaption>c</figcaption></figure>\
                    <script>x</script></main><nav></nav>";
        let main = "<h1>A</h1><p><b>An <b>answer</b></b></p>42<div>f<p>c</p></div>";
        assert_eq!(main_of(page), main);
    }

    #[test]
    fn parts_are_named_below_the_titles_of_their_first_pages_and_in_the_contents() {
        let parts = parts("# Summary\n\n[Zero](0.md)\n\n# One\n\n- [A](a.md)\n  - [B](b.md)\n");
        assert_eq!(parts[1], ("One".to_owned(), vec!["A".to_owned(), "B".to_owned()]));
        let title =
            |id: &str| format!("<h1 id=\"{id}\"><a class=\"header\" href=\"#{id}\">{id}</a></h1>");
        let page = format!("<main>{}{}{}</main>", title("Zero"), title("A"), title("B"));
        let below = title("A") + "<p class=\"part\"><i>Part: One</i></p>" + &title("B");
        let page = with_parts(&page, &parts);
        assert!(page.contains(&below), "{page}");
        assert!(page.contains("</ul><p>One</p><ul><li><a href=\"#A\">A</a></li>"), "{page}");
        assert!(!main_of(&page).contains("Contents"), "{page}");
    }

    #[test]
    fn drawings_become_pictures_with_colours_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let page = "<p>a</p><svg viewbox=\"0 0 1 1\"><title id=\"t\">A loop</title><path style=\"fill: var(--bg)\"/></svg><p>b</p>";
        let page = with_pictures(page, folder.path()).unwrap();
        assert_eq!(page, "<p>a</p><img src=\"pictures/1.svg\" alt=\"A loop\"><p>b</p>");
        let svg = fs::read_to_string(folder.path().join("pictures/1.svg")).unwrap();
        assert!(
            svg.contains("xmlns=")
                && svg.contains("viewBox=")
                && svg.contains("fill: #fff")
                && svg.contains(".ink"),
            "{svg}"
        );
    }
}
