//! The figures of the bench `scale`: many workers, and a frontier on Redis.

use super::figures::Figures;
use super::numbers::{grouped, plain, whole};
use super::plot::{Caption, Lines};
use super::tables::{Column, table};

/// The crawls with different numbers of workers, in the order of their marks.
const SERIES: [&str; 4] = ["one server", "pauses of 10 s", "4 servers", "16 servers"];
/// The crawls of which all, or the rest, is looked at.
const RESTS: [&str; 2] = ["1,000 pages a host at most", "no limit"];
/// The rows of the table: those of the crawls with 100 workers, and of two with more.
const ROWS: [(&str, &str); 9] = [
    ("one server/100", "100 workers of 100 tasks, one server, pauses of 1 s"),
    ("one server/300", "300 workers"),
    ("10 tasks in each worker/100", "10 tasks in each worker"),
    ("pauses of 10 s/100", "pauses of 10 s"),
    ("100 ms to the server and back/100", "100 ms to the server and back instead of 1 ms"),
    ("16 partitions on one server/100", "16 partitions on the server"),
    ("4 servers/100", "4 servers, with 16 partitions"),
    ("16 servers/100", "16 servers, with 64 partitions"),
    ("16 servers/300", "the same, and 300 workers"),
];

/// Renders the beginnings of crawls.
pub(super) fn beginnings(figures: &Figures) -> String {
    table("what differs", &ROWS, &columns(figures, "scale/workers/"))
}

/// Renders the rest of a crawl over time.
pub(super) fn rest(figures: &Figures) -> String {
    const BEGIN: &str = "scale/rest/1,000 pages a host at most/";
    let rows = numbers(figures, BEGIN).into_iter().filter(|at| [1, 10, 30, 100, 300].contains(at));
    let last = numbers(figures, BEGIN).pop();
    let rows: Vec<_> = rows.chain(last).map(|at| (at.to_string(), whole(at as f64))).collect();
    let rows: Vec<_> = rows.iter().map(|(key, name)| (key.as_str(), name.as_str())).collect();
    let left = |key: &str| {
        Some(format!("{:.1} %", figures.get(&format!("{BEGIN}{key}"), "left")? * 100.0))
    };
    let mut all: Vec<Column<'_>> = vec![("pages left".to_owned(), Box::new(left))];
    all.extend(columns(figures, BEGIN));
    table("seconds", &rows, &all)
}

fn columns<'a>(figures: &'a Figures, begin: &'static str) -> Vec<Column<'a>> {
    let get = move |key: &str, quantity| figures.get(&format!("{begin}{key}"), quantity);
    vec![
        ("pages/s".to_owned(), Box::new(move |key| Some(plain(get(key, "pages_per_second")?)))),
        (
            "scripts a page".to_owned(),
            Box::new(move |key| Some(format!("{:.1}", get(key, "calls_per_page")?))),
        ),
        (
            "busiest server".to_owned(),
            Box::new(move |key| Some(format!("{} %", whole(get(key, "busy")?.min(1.0) * 100.0)))),
        ),
    ]
}

/// Renders what was measured on a real server.
pub(super) fn costs(figures: &Figures) -> String {
    let cost = |key: &str| Some(plain(figures.get("scale/costs", key)?));
    let rows = [
        ("claim", "a claim, beside its jobs"),
        ("job", "a job of a claim"),
        ("complete", "a completion"),
        ("put", "links of a page to another partition"),
        ("renew", "a renewal of the leases of a worker"),
    ];
    let mut text = table("script", &rows, &[("µs".to_owned(), Box::new(cost))]);
    let get = |quantity| figures.get("scale/redis", quantity).map(plain);
    if let (Some(cpu), Some(scripts)) = (get("cpu"), get("scripts")) {
        text += &format!("\nA page takes the server {cpu} µs, {scripts} of them in scripts.\n");
    }
    text
}

/// Renders the memory of known URLs.
pub(super) fn seen(figures: &Figures) -> String {
    let numbers: Vec<_> = numbers(figures, "scale/seen/").into_iter().map(|n| n as f64).collect();
    let rows: Vec<_> = numbers.iter().map(|n| (format!("{n:.0}"), grouped(*n))).collect();
    let rows: Vec<_> = rows.iter().map(|(key, name)| (key.as_str(), name.as_str())).collect();
    let bytes = |key: &str| Some(whole(figures.get(&format!("scale/seen/{key}"), "bytes")?));
    table("known URLs", &rows, &[("bytes each".to_owned(), Box::new(bytes))])
}

/// Returns the last parts of the ids that begin so, which are numbers, in their order.
fn numbers(figures: &Figures, begin: &str) -> Vec<u64> {
    let ids = figures.ids(begin);
    let mut numbers: Vec<u64> = ids.filter_map(|id| id[begin.len()..].parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// Draws pages a second over the number of workers.
pub(super) fn draw_workers(figures: &Figures) -> Option<String> {
    draw(
        figures,
        Caption {
            name: "scale",
            title: "Pages a second over the number of workers",
            unit: "pages a second",
        },
        "workers of 100 tasks",
        |name| format!("scale/workers/{name}/"),
        &SERIES,
        |id| figures.get(id, "pages_per_second"),
    )
}

/// Draws the share of pages that are left, over time.
pub(super) fn draw_rest(figures: &Figures) -> Option<String> {
    draw(
        figures,
        Caption {
            name: "scale-rest",
            title: "The share of pages that are left, over time",
            unit: "share of the pages that is left",
        },
        "seconds since the start",
        |name| format!("scale/rest/{name}/"),
        &RESTS,
        |id| figures.get(id, "left"),
    )
}

/// Draws memory over the number of known URLs.
pub(super) fn draw_memory(figures: &Figures) -> Option<String> {
    let record = figures.get("scale/redis", "record")?;
    let memory = |name: &str| {
        let point = |urls: u64| {
            let each = figures.get(&format!("scale/seen/{urls}"), "bytes")?;
            let each = if name == "known" { each } else { each + record };
            Some((urls as f64, urls as f64 * each))
        };
        let points = numbers(figures, "scale/seen/").into_iter().filter_map(point).collect();
        (name.to_owned(), points)
    };
    let caption = Caption {
        name: "scale-memory",
        title: "The memory of Redis over known URLs",
        unit: "bytes of memory",
    };
    let series = ["known", "known and done, with the record"].map(memory).to_vec();
    Some(Lines { caption, over: "known URLs", series }.draw())
}

fn draw(
    figures: &Figures,
    caption: Caption,
    over: &'static str,
    begin: impl Fn(&str) -> String,
    names: &[&str],
    y: impl Fn(&str) -> Option<f64>,
) -> Option<String> {
    let line = |name: &&str| {
        let begin = begin(name);
        let point = |x: u64| Some((x as f64, y(&format!("{begin}{x}")).filter(|y| *y > 0.0)?));
        let points: Vec<_> = numbers(figures, &begin).into_iter().filter_map(point).collect();
        ((*name).to_owned(), points)
    };
    let series: Vec<_> = names.iter().map(line).filter(|(_, points)| !points.is_empty()).collect();
    (!series.is_empty()).then(|| Lines { caption, over, series }.draw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_their_numbers() {
        let mut figures = Figures::default();
        let csv = "id,bytes,left,pages_per_second,calls_per_page,busy\n\
                   scale/seen/10000,75.6,,,,\nscale/seen/2000,80,,,,\n\
                   \"scale/rest/1,000 pages a host at most/7\",,0.5,100,1.5,0.5\n";
        figures.add_csv(csv).unwrap();
        assert!(
            seen(&figures).ends_with("| 2,000 | 80 |\n| 10,000 | 76 |\n"),
            "{}",
            seen(&figures)
        );
        assert!(
            rest(&figures).ends_with("| 7 | 50.0 % | 100 | 1.5 | 50 % |\n"),
            "{}",
            rest(&figures)
        );
        assert!(draw_rest(&figures).is_some() && draw_workers(&figures).is_none());
        assert_eq!(draw_memory(&figures), None);
    }
}
