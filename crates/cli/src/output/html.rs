//! The HTML format: one page with everything in it, for people and for printing.

use std::collections::HashSet;
use std::fmt::Write;
use std::io;
use std::sync::Arc;

use crawl_core::{ErrorClass, Outcome};
use quick_xml::escape::escape;
use serde_json::json;

use super::broken::{Place, count, places, places_of, sentence};
use super::findings::{Finding, findings, spread};
use super::statistics::{NUM_DEPTHS, ResultKind, SIZES, STATUSES, TIMES};
use super::{End, Out, ReportFormat, ShownRow, date};

/// The HTML format. It keeps the rows until the end, to write them in the order of their URLs.
pub(super) struct Html {
    title: String,
    /// The command line, without secrets.
    command: String,
    rows: Vec<TableRow>,
    redirects: Vec<Redirect>,
}

/// A row of the table.
struct TableRow {
    url: Arc<str>,
    asked: Arc<str>,
    result: ResultKind,
    status: Option<u16>,
    /// The other cells, as JSON: note, type, bytes, milliseconds, clicks.
    rest: String,
}

struct Redirect {
    url: Arc<str>,
    asked: Arc<str>,
    status: u16,
    next_url: String,
}

/// The maximum number of links to one URL that are listed.
const MAX_LINKS: usize = 1_000;

/// The maximum number of links to one URL that are listed below its host or its page.
const MAX_LINKS_OF_SEVERAL: usize = 10;

const HEAD: &str = include_str!("html/head.html");
const TABLE: &str = include_str!("html/table.html");
const STYLE: &str = include_str!("html/report.css");
const SCRIPT: &str = include_str!("html/report.js");

impl Html {
    pub(super) fn new(title: String, command: String) -> Self {
        Self { title, command, rows: Vec::new(), redirects: Vec::new() }
    }

    fn head(&self, end: &End<'_>) -> String {
        let (title, command) = (escape(&*self.title), escape(&*self.command));
        let sum = sentence(end);
        let version = env!("CARGO_PKG_VERSION");
        let date = date::iso(end.date).replace('T', " ");
        let seconds = end.elapsed.as_secs_f64();
        format!(
            "{HEAD}<title>Crawl of {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <h1>Crawl of {title}</h1>\n<p class=\"sum\">{}</p>\n<dl class=\"facts\">\n\
             <div><dt>Date</dt><dd>{date} UTC</dd></div>\n\
             <div><dt>Duration</dt><dd>{seconds:.1} s</dd></div>\n\
             <div><dt>Program</dt><dd>crawl {version}</dd></div>\n\
             <div><dt>Command</dt><dd><code>{command}</code></dd></div>\n</dl>\n{}",
            escape(&*sum),
            cards(end)
        )
    }

    /// Writes the redirects, each with the pages that link to it: the permanent ones first,
    /// since their links should be changed.
    fn write_redirects(&self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        if self.redirects.is_empty() {
            return Ok(());
        }
        out.write("<section>\n<h2>Redirects</h2>\n")?;
        let is_permanent = |redirect: &&Redirect| matches!(redirect.status, 301 | 308);
        let (permanent, temporary): (Vec<_>, Vec<_>) =
            self.redirects.iter().partition(is_permanent);
        for (kind, advice, redirects) in [
            ("Permanent", "Change the links to the new address.", permanent),
            ("Temporary", "The links may stay as they are.", temporary),
        ] {
            if redirects.is_empty() {
                continue;
            }
            let number = count(redirects.len() as u64, "redirect");
            out.write(&cause(kind, &number, advice))?;
            for Redirect { url, asked, status, next_url } in redirects {
                let places = places_of(asked, &[], end);
                let (from, to) = (link(url), link(next_url));
                let summary = format!("{status} {from} → {to}");
                out.write(&details(&summary, &places, None, end))?;
            }
        }
        out.write("</section>\n")
    }

    fn write_rows(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        let results = ResultKind::ALL.iter().filter(|result| end.statistics.number(**result) > 0);
        let options: String = results
            .map(|result| {
                let (name, number) = (result.name(), end.statistics.number(*result));
                format!("<option value=\"{name}\">{name} ({number})</option>\n")
            })
            .collect();
        out.write(&TABLE.replace("<!-- results -->\n", &options))?;
        out.write("<script type=\"application/json\" id=\"rows\">[")?;
        // Which redirect of a circle is broken is known only now.
        let broken: HashSet<&str> = end.broken.iter().map(|broken| &*broken.asked).collect();
        for (n, TableRow { url, asked, result, status, rest }) in self.rows.iter().enumerate() {
            let result = match result {
                ResultKind::Redirect if broken.contains(&**asked) => ResultKind::Broken,
                ResultKind::Broken if !broken.contains(&**asked) => ResultKind::Redirect,
                result => *result,
            };
            let comma = if n > 0 { "," } else { "" };
            let row = format!("[{},{},{:?}", json!(url), json!(status), result.name());
            // "</script>" in a URL must not end the script.
            let row = row.replace('<', "\\u003c");
            out.write(&format!("{comma}\n{row},{rest}"))?;
        }
        out.write("\n]</script>\n")?;
        out.write(&format!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n"))
    }
}

impl ReportFormat for Html {
    fn row(&mut self, row: &ShownRow<'_>, _: &mut Out) -> io::Result<()> {
        let (url, asked) = (Arc::clone(&row.url), Arc::clone(row.asked));
        // Which redirects of a circle are broken is known only at the end.
        if let (Some(status), Some(next_url)) = (row.status, &row.next_url)
            && matches!(row.result, ResultKind::Redirect | ResultKind::Broken)
        {
            let (url, asked, next_url) = (Arc::clone(&url), Arc::clone(&asked), next_url.clone());
            self.redirects.push(Redirect { url, asked, status, next_url });
        }
        let error = row.error.as_ref().map(|error| match error.class {
            // The result is its name already.
            ErrorClass::Blocked => error.message.clone(),
            _ => error.to_string(),
        });
        let note = error.or_else(|| Some(format!("→ {}", row.next_url.as_ref()?)));
        let is_part = row.error.as_ref().is_some_and(|e| e.class == ErrorClass::Fragment);
        // The page of a missing fragment has answered, and has a row of its own.
        let status = row.status.filter(|_| !is_part);
        let clicks = Some(row.depth).filter(|_| row.outcome == Outcome::Page);
        let has_response = row.tries > 0 && !is_part;
        let size = row.size.filter(|_| has_response);
        let time = Some(row.elapsed_ms).filter(|_| has_response);
        let rest = json!([note, row.content_type, size, time, clicks]).to_string();
        let rest = rest.trim_start_matches('[').replace('<', "\\u003c");
        self.rows.push(TableRow { url, asked, result: row.result, status, rest });
        Ok(())
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        self.rows.sort_by(|a, b| a.url.cmp(&b.url));
        let broken: HashSet<&str> = end.broken.iter().map(|broken| &*broken.asked).collect();
        self.redirects.retain(|redirect| !broken.contains(&*redirect.asked));
        self.redirects.sort_by(|a, b| a.url.cmp(&b.url));
        out.write(&self.head(end))?;
        out.write(&charts(end))?;
        write_broken(end, out)?;
        self.write_redirects(end, out)?;
        self.write_rows(end, out)
    }
}

/// Returns the numbers of URLs by their results, each a link to the rows below.
fn cards(end: &End<'_>) -> String {
    let card = |name: &str, number: u64, class: &str, meaning: &str| {
        format!(
            "<li class=\"{name}\"><a href=\"#class={class}\" title=\"{meaning}\"><b>{number}</b> \
             {name}</a></li>\n"
        )
    };
    let mut cards = card("checked", end.statistics.checked(), "", "all that was checked");
    for result in ResultKind::IN_REPORTS {
        // Of a circle of redirects each URL is in the list, whether it has a row or not.
        let number = match result {
            ResultKind::Broken => end.broken.len() as u64,
            result => end.statistics.number(result),
        };
        let is_usual =
            matches!(result, ResultKind::Broken | ResultKind::Redirect | ResultKind::Skipped);
        if number > 0 || is_usual {
            cards += &card(result.name(), number, result.name(), result.meaning());
        }
    }
    format!("<ul class=\"cards\">\n{cards}</ul>\n")
}

/// Returns the pictures of what was found.
fn charts(end: &End<'_>) -> String {
    let statistics = end.statistics;
    let plain =
        |name: &str, number: u64| Bar { name: name.to_owned(), parts: vec![("plain", number)] };
    let by_result = STATUSES.iter().zip(statistics.statuses).map(|(name, counts)| {
        let parts = ResultKind::ALL.iter().zip(counts);
        Bar {
            name: (*name).to_owned(),
            parts: parts.map(|(result, number)| (result.name(), number)).collect(),
        }
    });
    let depths = statistics.depths.iter().enumerate().map(|(depth, number)| {
        let name = match depth {
            0 => "the start".to_owned(),
            1 => "1 click".to_owned(),
            depth if depth == NUM_DEPTHS - 1 => format!("{depth} clicks and more"),
            depth => format!("{depth} clicks"),
        };
        plain(&name, *number)
    });
    let sizes = SIZES.iter().zip(statistics.sizes).map(|((_, name), number)| plain(name, number));
    let times = TIMES.iter().zip(statistics.times).map(|((_, name), number)| plain(name, number));
    let charts = [
        chart("Status", "URLs by the status of the answer", &by_result.collect::<Vec<_>>()),
        chart("Depth", "Pages by clicks from the start", &depths.collect::<Vec<_>>()),
        chart("Size", "Pages and files by size", &sizes.collect::<Vec<_>>()),
        chart("Time", "URLs by the time they took", &times.collect::<Vec<_>>()),
    ];
    format!("<div class=\"charts\">\n{}</div>\n", charts.concat())
}

/// A bar of a chart, with parts in the colors of their classes.
struct Bar {
    name: String,
    parts: Vec<(&'static str, u64)>,
}

impl Bar {
    fn number(&self) -> u64 {
        self.parts.iter().map(|(_, number)| number).sum()
    }
}

/// Returns a bar chart as an SVG image, without the bars that are empty.
fn chart(heading: &str, title: &str, bars: &[Bar]) -> String {
    const ROW: usize = 22;
    const LEFT: u64 = 120;
    const WIDTH: u64 = 135;
    let bars: Vec<&Bar> = bars.iter().filter(|bar| bar.number() > 0).collect();
    let max = bars.iter().map(|bar| bar.number()).max().unwrap_or_default().max(1);
    let height = ROW * bars.len().max(1);
    let mut svg = format!(
        "<section>\n<h2>{heading}</h2>\n\
         <svg viewBox=\"0 0 300 {height}\" role=\"img\" aria-label=\"{title}\">\n"
    );
    for (row, bar) in bars.iter().enumerate() {
        let (top, number) = (ROW * row, bar.number());
        let text = top + 15;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{text}\" text-anchor=\"end\">{}</text>",
            LEFT - 8,
            bar.name
        );
        let mut before = 0;
        for (class, part) in bar.parts.iter().filter(|(_, part)| *part > 0) {
            // What is there can be seen, however little it is.
            let (x, end) = (LEFT + WIDTH * before / max, LEFT + WIDTH * (before + part) / max);
            let width = (end - x).max(2);
            let top = top + 3;
            let _ = writeln!(
                svg,
                "<rect class=\"{class}\" x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"16\">\
                 <title>{part} {class}</title></rect>"
            );
            before += part;
        }
        let end = LEFT + WIDTH * number / max + 8;
        let _ = writeln!(svg, "<text x=\"{end}\" y=\"{text}\">{number}</text>");
    }
    svg + "</svg>\n</section>\n"
}

/// Writes what is broken, by its cause.
fn write_broken(end: &End<'_>, out: &mut Out) -> io::Result<()> {
    out.write("<section>\n<h2>Broken</h2>\n")?;
    if end.broken.is_empty() {
        out.write("<p>Nothing is broken.</p>\n")?;
    }
    let mut causes: Vec<(String, Vec<Finding<'_>>)> = Vec::new();
    for finding in findings(end.broken, end) {
        let cause = finding.cause();
        match causes.iter_mut().find(|(name, _)| *name == cause) {
            Some((_, findings)) => findings.push(finding),
            None => causes.push((cause, vec![finding])),
        }
    }
    // The cause of most links comes first.
    let num_links =
        |findings: &[Finding<'_>]| findings.iter().map(|it| it.num_links).sum::<usize>();
    causes.sort_by_key(|(_, findings)| std::cmp::Reverse(num_links(findings)));
    for (name, findings) in causes {
        let urls: usize = findings.iter().map(|finding| finding.urls.len()).sum();
        let (urls, links) = (count(urls as u64, "URL"), count(num_links(&findings) as u64, "link"));
        let advice = findings.iter().find_map(|it| Some(it.urls.first()?.advice()));
        out.write(&cause(&name, &format!("{urls}, {links}"), advice.unwrap_or_default()))?;
        findings.iter().try_for_each(|finding| write_finding(finding, end, out))?;
    }
    out.write("</section>\n")
}

fn cause(name: &str, numbers: &str, advice: &str) -> String {
    format!("<h3>{} <small>{numbers}</small></h3>\n<p>{advice}</p>\n", escape(name))
}

fn write_finding(finding: &Finding<'_>, end: &End<'_>, out: &mut Out) -> io::Result<()> {
    if let (None, [broken]) = (finding.shared, finding.urls.as_slice()) {
        let places = places(broken, end);
        let message = broken.message();
        return out.write(&details(&link(&broken.url), &places, message.as_deref(), end));
    }
    let subject = finding.shared.unwrap_or_default();
    let links = count(finding.num_links as u64, "link");
    out.write(&format!(
        "<details>\n<summary>{} <small>{}, {links}</small></summary>\n",
        link(subject),
        finding.size()
    ))?;
    if let Some(message) = finding.message() {
        out.write(&format!("<p>{}</p>\n", escape(message)))?;
    }
    out.write("<ul class=\"links\">\n")?;
    for broken in &finding.urls {
        let places = places(broken, end);
        let name = finding.name(broken);
        let name = if name == &*broken.url { link(name) } else { fragment(&broken.url, name) };
        out.write(&format!("<li>{name}\n{}</li>\n", list(&places, MAX_LINKS_OF_SEVERAL)))?;
    }
    out.write("</ul>\n</details>\n")
}

/// Returns an item that can be opened, with the links to a URL.
fn details(summary: &str, places: &[Place<'_>], message: Option<&str>, end: &End<'_>) -> String {
    let links = match spread(places, end) {
        Some(spread) => spread,
        None => count(places.len() as u64, "link"),
    };
    let message = message.map(|message| format!("<p>{}</p>\n", escape(message)));
    format!(
        "<details>\n<summary>{summary} <small>{links}</small></summary>\n{}{}</details>\n",
        message.unwrap_or_default(),
        list(places, MAX_LINKS)
    )
}

/// Returns the list of links to a URL.
fn list(places: &[Place<'_>], max: usize) -> String {
    let mut items: String =
        places.iter().take(max).map(|place| format!("<li>{}</li>\n", item(place))).collect();
    if places.is_empty() {
        items += "<li>No page links to it: it is a start URL, or a sitemap lists it.</li>\n";
    }
    if places.len() > max {
        let _ = writeln!(items, "<li>and {} more</li>", places.len() - max);
    }
    format!("<ul class=\"links\">\n{items}</ul>\n")
}

/// Returns a link to a URL with a fragment, which is shown alone.
fn fragment(url: &str, shown: &str) -> String {
    if is_http(url) {
        format!("<a href=\"{}\" rel=\"noreferrer\">{}</a>", escape(url), escape(shown))
    } else {
        format!("<span>{}</span>", escape(shown))
    }
}

fn is_http(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
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
    if is_http(url) {
        format!("<a href=\"{shown}\" rel=\"noreferrer\">{shown}</a>")
    } else {
        format!("<span>{shown}</span>")
    }
}
