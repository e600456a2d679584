//! The HTML format: one page with everything in it, for people and for printing.

use std::fmt::Write;
use std::io;
use std::sync::Arc;

use crawl_core::Outcome;
use quick_xml::escape::escape;
use serde_json::json;

use super::broken::{Place, count, counted, places, sentence};
use super::{End, Out, ReportFormat, ShownRow};

/// The HTML format. It keeps a JSON array for each row until the end, to write them
/// in the order of their URLs.
pub(super) struct Html {
    title: String,
    rows: Vec<(Arc<str>, String)>,
    redirects: Vec<Redirect>,
    statuses: Statuses,
    times: [u64; TIMES.len()],
}

struct Redirect {
    url: Arc<str>,
    status: u16,
    next_url: String,
}

/// The number of rows by the kind of their result, in the order of the chart.
#[derive(Default)]
struct Statuses([u64; 7]);

const STATUSES: [(&str, &str); 7] = [
    ("2xx fine", "fine"),
    ("3xx redirect", "redirect"),
    ("4xx error", "broken"),
    ("5xx error", "broken"),
    ("other error", "broken"),
    ("failed", "broken"),
    ("skipped", "skipped"),
];

/// The upper ends of the bars of the chart of times, in milliseconds.
const TIMES: [(u64, &str); 7] = [
    (10, "under 10 ms"),
    (30, "10 to 30 ms"),
    (100, "30 to 100 ms"),
    (300, "100 to 300 ms"),
    (1_000, "0.3 to 1 s"),
    (3_000, "1 to 3 s"),
    (u64::MAX, "3 s and more"),
];

const HEAD: &str = include_str!("html/head.html");
const TABLE: &str = include_str!("html/table.html");
const STYLE: &str = include_str!("html/report.css");
const SCRIPT: &str = include_str!("html/report.js");

impl Html {
    pub(super) fn new(title: String) -> Self {
        let statuses = Statuses::default();
        let (rows, redirects, times) = (Vec::new(), Vec::new(), [0; TIMES.len()]);
        Self { title, rows, redirects, statuses, times }
    }

    fn head(&self, end: &End<'_>) -> String {
        let title = escape(&*self.title);
        let (total, sum) = (end.report.total(), sentence(end));
        let mut cards = String::new();
        // With --broken-only there are fewer rows here.
        let (redirects, skipped) = (counted("redirect", end), counted("skip", end));
        for (number, name) in [
            (total, "URLs"),
            (end.broken.len() as u64, "broken"),
            (redirects, "redirects"),
            (skipped, "skipped"),
        ] {
            let _ = write!(cards, "<li class=\"{name}\"><b>{number}</b> {name}</li>");
        }
        format!(
            "{HEAD}<title>Crawl of {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <h1>Crawl of {title}</h1>\n<p class=\"sum\">{}</p>\n<ul class=\"cards\">{cards}</ul>\n",
            escape(&*sum)
        )
    }

    fn charts(&self) -> String {
        let statuses = STATUSES.iter().zip(self.statuses.0);
        let statuses: Vec<_> = statuses.map(|((name, class), n)| (*name, *class, n)).collect();
        let times = TIMES.iter().zip(self.times).map(|((_, name), n)| (*name, "time", n));
        format!(
            "<div class=\"charts\">\n<section>\n<h2>Results</h2>\n{}</section>\n\
             <section>\n<h2>Times</h2>\n{}</section>\n</div>\n",
            chart("URLs by result", &statuses),
            chart("URLs by the time they took", &times.collect::<Vec<_>>()),
        )
    }

    fn write_redirects(&self, out: &mut Out) -> io::Result<()> {
        if self.redirects.is_empty() {
            return Ok(());
        }
        let number = count(self.redirects.len() as u64, "redirect");
        out.write(&format!(
            "<section>\n<h2>Redirects</h2>\n<details>\n<summary>{number}</summary>\n<ul class=\"links\">\n"
        ))?;
        for Redirect { url, status, next_url } in &self.redirects {
            let (from, to) = (link(url), link(next_url));
            out.write(&format!("<li>{status} {from} → {to}</li>\n"))?;
        }
        out.write("</ul>\n</details>\n</section>\n")
    }

    fn write_rows(&self, out: &mut Out) -> io::Result<()> {
        out.write(TABLE)?;
        out.write("<script type=\"application/json\" id=\"rows\">[")?;
        for (n, (_, row)) in self.rows.iter().enumerate() {
            out.write(&format!("{}\n{row}", if n > 0 { "," } else { "" }))?;
        }
        out.write("\n]</script>\n")?;
        out.write(&format!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n"))
    }
}

impl ReportFormat for Html {
    fn row(&mut self, row: &ShownRow<'_>, _: &mut Out) -> io::Result<()> {
        let kind = match (row.outcome, row.status) {
            (Outcome::Skipped, _) => 6,
            (Outcome::Failed, _) | (_, None) => 5,
            // Such as a redirect in a circle, or the status 999.
            (Outcome::HttpError, Some(..400 | 600..)) => 4,
            (Outcome::HttpError, Some(500..)) => 3,
            (Outcome::HttpError, Some(_)) => 2,
            (Outcome::Redirect, Some(_)) => 1,
            (Outcome::Page | Outcome::Other, Some(_)) => 0,
        };
        self.statuses.0[kind] += 1;
        if row.tries > 0 {
            let bar = TIMES.iter().position(|(end, _)| row.elapsed_ms < *end);
            self.times[bar.unwrap_or(TIMES.len() - 1)] += 1;
        }
        if let (Outcome::Redirect, Some(status), Some(next_url)) =
            (row.outcome, row.status, &row.next_url)
        {
            let (url, next_url) = (Arc::clone(&row.url), next_url.clone());
            self.redirects.push(Redirect { url, status, next_url });
        }
        let class = match STATUSES[kind].1 {
            "broken" if !row.is_broken => "known",
            "redirect" if row.is_broken => "broken",
            class => class,
        };
        let error = row.error.as_ref().map(ToString::to_string);
        let note = error.or_else(|| Some(format!("→ {}", row.next_url.as_ref()?)));
        let array = json!([
            row.url,
            row.status,
            class,
            note,
            row.content_type,
            row.size,
            row.elapsed_ms,
            row.depth
        ]);
        // "</script>" in a URL or a message must not end the script.
        let array = array.to_string().replace('<', "\\u003c");
        self.rows.push((Arc::clone(&row.url), array));
        Ok(())
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        self.rows.sort_unstable();
        self.redirects.sort_by(|a, b| a.url.cmp(&b.url));
        out.write(&self.head(end))?;
        out.write(&self.charts())?;
        write_broken(end, out)?;
        self.write_redirects(out)?;
        self.write_rows(out)
    }
}

fn write_broken(end: &End<'_>, out: &mut Out) -> io::Result<()> {
    out.write("<section>\n<h2>Broken</h2>\n")?;
    if end.broken.is_empty() {
        out.write("<p>Nothing is broken.</p>\n")?;
    }
    for broken in end.broken {
        let places = places(broken, end);
        let links = count(places.len() as u64, "link");
        out.write(&format!(
            "<details>\n<summary><b>{}</b> {} <small>{links}</small></summary>\n<ul class=\"links\">\n",
            escape(broken.problem()),
            link(&broken.url),
        ))?;
        for place in &places {
            out.write(&format!("<li>{}</li>\n", item(place)))?;
        }
        if places.is_empty() {
            out.write("<li>No page links to it: it is a start URL, or a sitemap lists it.</li>\n")?;
        }
        out.write("</ul>\n</details>\n")?;
    }
    out.write("</section>\n")
}

fn item(place: &Place<'_>) -> String {
    let mut item = link(&place.page);
    if let Some(line) = place.line() {
        let _ = write!(item, ", line {line}");
    }
    let text = place.text();
    if !text.is_empty() {
        let _ = write!(item, ": <q>{}</q>", escape(text));
    }
    for redirect in &place.via {
        let _ = write!(item, ", redirected by {}", link(redirect));
    }
    item
}

/// Returns a URL as a link. Anything else, such as the path of a file, is text.
fn link(url: &str) -> String {
    let shown = escape(url);
    if url.starts_with("http://") || url.starts_with("https://") {
        format!("<a href=\"{shown}\" rel=\"noreferrer\">{shown}</a>")
    } else {
        format!("<span>{shown}</span>")
    }
}

/// Returns a bar chart as an SVG image.
fn chart(title: &str, bars: &[(&str, &str, u64)]) -> String {
    const ROW: usize = 24;
    const LEFT: u64 = 120;
    const BAR: u64 = 380;
    let max = bars.iter().map(|(.., n)| *n).max().unwrap_or_default().max(1);
    let height = ROW * bars.len();
    let mut svg =
        format!("<svg viewBox=\"0 0 560 {height}\" role=\"img\" aria-label=\"{title}\">\n");
    for (row, (name, class, n)) in bars.iter().enumerate() {
        let (top, width) = (ROW * row, BAR * n / max);
        let (bar, text, end) = (top + 4, top + 16, LEFT + width + 6);
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{text}\" text-anchor=\"end\">{name}</text>\
             <rect class=\"{class}\" x=\"{LEFT}\" y=\"{bar}\" width=\"{width}\" height=\"16\"/>\
             <text x=\"{end}\" y=\"{text}\">{n}</text>",
            LEFT - 8
        );
    }
    svg + "</svg>\n"
}
