//! The tables of the measurements, in Markdown.

use std::cmp::Reverse;

use super::figures::Figures;
use super::numbers::{plain, whole};
use super::peers;
use super::provenance::Provenance;
use super::scale;
use super::tool;

/// The crawling subjects, in the order of the rows.
pub(super) const CRAWLERS: [&str; 12] = [
    "stage0-threads",
    "stage1-callbacks",
    "stage2-coroutines",
    "stage3-queue",
    "mio-floor",
    "bare-mio",
    "tokio-raw",
    "tokio-hyper",
    "tokio-rustls",
    "reqwest",
    "smol",
    "spider",
];
/// The executors.
pub(super) const RUNTIMES: [&str; 4] = ["ours", "tokio", "async-executor", "local-pool"];
/// The measured operations of executors, with their names in tables, in the order
/// of the rows.
pub(super) const OPERATIONS: [(&str, &str); 7] = [
    ("switch", "switch"),
    ("spawn", "spawn, and await it"),
    ("foreign-wake", "wake by a thread"),
    ("timer-0", "timer"),
    ("timer-1000", "timer among 1,000"),
    ("timer-1000000", "timer among 1,000,000"),
    ("queue", "queue"),
];
/// The link extractors.
pub(super) const EXTRACTORS: [&str; 6] =
    ["ours", "ours-whole", "lol_html", "html5gum", "html5ever", "scraper"];
/// The numbers of pages in the bench `growth`.
pub(super) const GROWTH: [&str; 4] = ["1000", "10000", "100000", "1000000"];
/// The subjects of the bench `growth`.
pub(super) const GROWING: [&str; 3] = ["stage1-callbacks", "stage2-coroutines", "stage3-queue"];
/// The workload that all others vary in one factor.
pub(super) const USUAL: &str = "8KB-100-tasks";
const WORKLOADS: [&str; 9] = [
    USUAL,
    "8KB-100-tasks-close",
    "8KB-100-tasks-no-links",
    "1KB-100-tasks",
    "60KB-100-tasks",
    "8KB-1-task",
    "8KB-10-tasks",
    "8KB-1000-tasks",
    "8KB-100-tasks-https",
];
/// The subjects of the bench `line`.
const OVER_A_LINE: [&str; 6] = ["stage3-queue", "spider", "aiohttp", "lychee", "wget2", "wget"];
/// The titles of ratios: stage 3, divided by the subject of the row.
const TIME_RATIO: &str = "stage 3's time ÷ its time";
const CPU_RATIO: &str = "stage 3's CPU ÷ its CPU";
/// The numbers of fetches in flight in the bench `memory`.
const IN_FLIGHT: [&str; 4] = ["100", "1000", "10000", "19000"];

/// A column: its title, and its cell for the key of a row.
pub(super) type Column<'a> = (String, Box<dyn Fn(&str) -> Option<String> + 'a>);

/// Renders all tables, each between its own anchors.
pub(super) fn all(figures: &Figures, taken: &[Provenance]) -> String {
    let (peers_taken, taken): (Vec<_>, Vec<_>) =
        taken.iter().cloned().partition(|taken| taken.bench.starts_with("peers-"));
    let tables = [
        ("taken", Provenance::table(&taken)),
        ("paired", paired(figures)),
        ("ratios", ratios(figures)),
        ("sleeps", sleeps(figures)),
        ("throughput", throughput(figures)),
        ("memory", memory(figures)),
        ("memory_kinds", memory_kinds(figures)),
        ("c10k", c10k(figures)),
        ("scheduling", scheduling(figures)),
        ("links", links(figures)),
        ("growth", growth(figures)),
        ("instructions", instructions(figures)),
        ("line", line(figures)),
        ("scale", scale::beginnings(figures)),
        ("scale_rest", scale::rest(figures)),
        ("scale_costs", scale::costs(figures)),
        ("scale_seen", scale::seen(figures)),
        ("tool", tool::costs(figures)),
        ("crates", tool::crates(figures)),
        ("peers_taken", Provenance::table(&peers_taken)),
        ("peers_commands", peers::commands()),
        ("peers_planted", peers::planted_site(figures)),
        ("peers_plants", peers::plants(figures)),
        ("peers_real", peers::real_site(figures)),
        ("peers_pages", peers::plain_pages(figures)),
    ];
    let begin = "<!-- Written by cargo xtask measurements, from the tables beside it. -->\n";
    tables.iter().fold(begin.to_owned(), |text, (name, table)| {
        text + &format!("<!-- ANCHOR: {name} -->\n{table}<!-- ANCHOR_END: {name} -->\n")
    })
}

/// Renders a table without its empty rows and columns. Like the corner, the name of
/// a row may have several cells.
pub(super) fn table(corner: &str, rows: &[(&str, &str)], columns: &[Column<'_>]) -> String {
    let has = |(_, show): &&Column<'_>| rows.iter().any(|(key, _)| show(key).is_some());
    let columns: Vec<_> = columns.iter().filter(has).collect();
    if columns.is_empty() {
        return "*Not measured.*\n".to_owned();
    }
    let titles: Vec<_> = columns.iter().map(|(title, _)| title.as_str()).collect();
    let names = "|---".repeat(corner.split('|').count());
    let mut text = format!(
        "| {corner} | {} |\n{names}|{}\n",
        titles.join(" | "),
        "--:|".repeat(columns.len())
    );
    for (key, name) in rows {
        let cells: Vec<_> = columns.iter().map(|(_, show)| show(key)).collect();
        if cells.iter().any(Option::is_some) {
            let cells: Vec<_> = cells.into_iter().map(|cell| cell.unwrap_or("–".into())).collect();
            text += &format!("| {name} | {} |\n", cells.join(" | "));
        }
    }
    text
}

/// Returns rows whose keys have several parts, each with a cell of its own.
fn in_cells(keys: &[String]) -> Vec<(&str, String)> {
    let number = |part: &str| part.parse().map_or_else(|_| part.to_owned(), whole);
    let name = |key: &str| key.split('/').map(number).collect::<Vec<_>>().join(" | ");
    keys.iter().map(|key| (key.as_str(), name(key))).collect()
}

/// Returns the same rows with borrowed names.
fn borrowed<'a>(rows: &'a [(&'a str, String)]) -> Vec<(&'a str, &'a str)> {
    rows.iter().map(|(key, name)| (*key, name.as_str())).collect()
}

/// Returns rows whose names are their keys.
fn named<'a>(keys: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    keys.iter().map(|&key| (key, key)).collect()
}

/// Returns a column of figures divided by `unit`. `id` is the beginning and the end
/// of the ids, around the key of the row.
fn column<'a>(
    figures: &'a Figures,
    title: &str,
    id: (&'a str, &'a str),
    quantity: &'a str,
    unit: f64,
) -> Column<'a> {
    formatted(figures, title, id, quantity, move |value| plain(value / unit))
}

/// Returns a column of bytes, which have no decimals.
fn bytes<'a>(
    figures: &'a Figures,
    title: &str,
    id: (&'a str, &'a str),
    quantity: &'a str,
) -> Column<'a> {
    formatted(figures, title, id, quantity, whole)
}

/// Returns a column of figures in the format of `show`.
fn formatted<'a>(
    figures: &'a Figures,
    title: &str,
    (before, after): (&'a str, &'a str),
    quantity: &'a str,
    show: impl Fn(f64) -> String + 'a,
) -> Column<'a> {
    let show =
        move |key: &str| Some(show(figures.get(&format!("{before}{key}{after}"), quantity)?));
    (title.to_owned(), Box::new(show))
}

/// Returns a column of medians with their quartiles.
fn with_quartiles<'a>(
    figures: &'a Figures,
    title: &str,
    before: &'a str,
    quantity: &'a str,
) -> Column<'a> {
    let show = move |key: &str| ratio(figures, &format!("{before}{key}"), quantity);
    (title.to_owned(), Box::new(show))
}

/// Renders a median with its quartiles.
fn ratio(figures: &Figures, id: &str, quantity: &str) -> Option<String> {
    let get = |part| figures.get(id, &format!("{quantity}.{part}"));
    let (median, lower, upper) = (get("median")?, get("lower")?, get("upper")?);
    // A single round says nothing of the spread.
    let spread = (lower < upper).then(|| format!(" ({lower:.2}–{upper:.2})"));
    Some(format!("{median:.2}{}", spread.unwrap_or_default()))
}

fn paired(figures: &Figures) -> String {
    let of = |title, quantity| column(figures, title, ("paired/8KB-100-tasks/", ""), quantity, 1.0);
    let columns = [
        of("pages/s", "pages_per_second.median"),
        of("CPU µs/page", "cpu_microseconds_per_page.median"),
        with_quartiles(figures, TIME_RATIO, "paired/8KB-100-tasks/", "wall_ratio"),
        with_quartiles(figures, CPU_RATIO, "paired/8KB-100-tasks/", "cpu_ratio"),
    ];
    table("", &named(&CRAWLERS), &columns)
}

fn ratios(figures: &Figures) -> String {
    let ids: Vec<_> = WORKLOADS
        .iter()
        .flat_map(|workload| CRAWLERS.map(|crawler| format!("{workload}/{crawler}")))
        .filter(|id| !id.starts_with("8KB-100-tasks/") && !id.ends_with("/stage3-queue"))
        .collect();
    let columns = [
        with_quartiles(figures, TIME_RATIO, "paired/", "wall_ratio"),
        with_quartiles(figures, CPU_RATIO, "paired/", "cpu_ratio"),
    ];
    table("workload | stage 3 against", &borrowed(&in_cells(&ids)), &columns)
}

/// Renders how often each subject lets the server fall asleep, where all close their
/// connections.
fn sleeps(figures: &Figures) -> String {
    let workload = "paired/8KB-100-tasks-close/";
    let of = |title, quantity| column(figures, title, (workload, ""), quantity, 1.0);
    let columns = [
        of("pages/s", "pages_per_second.median"),
        of("CPU µs/page", "cpu_microseconds_per_page.median"),
        of("the server falls asleep, times a page", "server_sleeps_per_page.median"),
    ];
    table("8KB-100-tasks-close", &named(&CRAWLERS), &columns)
}

/// Renders the throughput in several tables, each as wide as a page.
fn throughput(figures: &Figures) -> String {
    let starts = WORKLOADS.map(|workload| (workload, format!("throughput/{workload}/")));
    let tables = starts.chunks(3).map(|starts| {
        let column = |(workload, start): &'_ (&str, String)| -> Column<'_> {
            let start = start.clone();
            let show =
                move |key: &str| Some(plain(figures.get(&format!("{start}{key}"), "per_second")?));
            ((*workload).to_owned(), Box::new(show))
        };
        table("pages/s", &named(&CRAWLERS), &starts.iter().map(column).collect::<Vec<_>>())
    });
    tables.collect::<Vec<_>>().join("\n")
}

fn memory(figures: &Figures) -> String {
    let ends = IN_FLIGHT.map(|count| format!("/{count}"));
    let title = |end: &str| end.trim_start_matches('/').parse().map(plain).unwrap_or_default();
    let columns: Vec<_> = ends
        .iter()
        .map(|end| bytes(figures, &title(end), ("memory/", end), "heap_per_fetch"))
        .collect();
    table("bytes a fetch, by how many are in flight", &named(&CRAWLERS), &columns)
}

fn memory_kinds(figures: &Figures) -> String {
    let keys: Vec<_> = CRAWLERS
        .iter()
        .flat_map(|crawler| ["1000", "10000"].map(|count| format!("{crawler}/{count}")))
        .collect();
    let of = |title, quantity| bytes(figures, title, ("memory/", ""), quantity);
    let columns = [
        of("heap", "heap_per_fetch"),
        of("resident", "resident_per_fetch"),
        of("reserved", "reserved_per_fetch"),
        column(figures, "resident in all, MB", ("memory/", ""), "all.resident", 1e6),
        column(figures, "with one in flight, MB", ("memory/", ""), "one.resident", 1e6),
    ];
    table("bytes a fetch | in flight", &borrowed(&in_cells(&keys)), &columns)
}

fn c10k(figures: &Figures) -> String {
    let of = |title, quantity| column(figures, title, ("c10k/", ""), quantity, 1.0);
    let columns =
        [of("tasks", "tasks"), of("seconds", "wall_seconds"), of("of them CPU", "cpu_seconds")];
    table("", &named(&CRAWLERS), &columns)
}

fn scheduling(figures: &Figures) -> String {
    let ends = RUNTIMES.map(|runtime| format!("/{runtime}"));
    let of = |end: &str| end.trim_start_matches('/').to_owned();
    let columns: Vec<_> = ends
        .iter()
        .map(|end| column(figures, &of(end), ("scheduling/", end), "median", 1.0))
        .collect();
    let parked = RUNTIMES.iter().filter_map(|runtime| {
        let bytes = figures.get(&format!("scheduling/parked-bytes/{runtime}"), "median")?;
        Some(format!("{runtime} {}", whole(bytes)))
    });
    let parked: Vec<_> = parked.collect();
    let mut text = table("ns", &OPERATIONS, &columns);
    if !parked.is_empty() {
        text += &format!("\nThe bytes that a parked task takes: {}.\n", parked.join(", "));
    }
    text
}

fn links(figures: &Figures) -> String {
    let columns = [
        column(figures, "a page of 8 KB, µs", ("links/8KB/", ""), "median", 1e3),
        column(figures, "of 60 KB, µs", ("links/60KB/", ""), "median", 1e3),
        column(figures, "MB/s of 8 KB", ("links/8KB/", ""), "per_second", 1e6),
        column(figures, "MB/s of 60 KB", ("links/60KB/", ""), "per_second", 1e6),
    ];
    table("", &named(&EXTRACTORS), &columns)
}

fn growth(figures: &Figures) -> String {
    let ids: Vec<_> = GROWING
        .iter()
        .chain(&["stage3-queue-huge-pages"])
        .flat_map(|crawler| GROWTH.map(|pages| format!("{crawler}/{pages}")))
        .collect();
    let of = |title, quantity, unit| column(figures, title, ("growth/", ""), quantity, unit);
    let columns = [
        of("pages/s", "pages_per_second", 1.0),
        of("CPU µs/page", "cpu_microseconds_per_page", 1.0),
        of("peak, MB", "peak", 1e6),
        bytes(figures, "bytes a URL", ("growth/", ""), "bytes_per_url"),
    ];
    let mut text = table(" | pages", &borrowed(&in_cells(&ids)), &columns);
    let known = |quantity| figures.get("growth/known/10000000", quantity);
    if let (Some(time), Some(bytes)) = (known("nanoseconds_per_link"), known("resident")) {
        let (time, bytes) = (plain(time), plain(bytes / 1e9));
        text += &format!(
            "\nWith 10,000,000 known URLs that are never fetched: {time} ns a link, {bytes} GB.\n"
        );
    }
    text
}

fn instructions(figures: &Figures) -> String {
    let rows = [
        ("bare_mio_close", "bare-mio, closing"),
        ("stage1_close", "stage1-callbacks, closing"),
        ("stage2_close", "stage2-coroutines, closing"),
        ("stage3_close", "stage3-queue, closing"),
        ("bare_mio", "bare-mio"),
        ("stage3", "stage3-queue"),
        ("tokio_raw", "tokio-raw"),
        ("tokio_hyper", "tokio-hyper"),
    ];
    let before = "instructions/crawls/thousand_pages/";
    table("", &rows, &[column(figures, "instructions a page", (before, ""), "instructions", 1e3)])
}

/// Renders the crawls over lines, with a row for each line and number of connections.
fn line(figures: &Figures) -> String {
    let rows = figures.ids("line/").filter_map(|id| Some(id.rsplit_once('/')?.0));
    let mut rows: Vec<_> = rows.map(|row| row.trim_start_matches("line/").to_owned()).collect();
    let numbers =
        |row: &String| row.split('/').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>();
    // The usual congestion control, cubic, comes before bbr.
    rows.sort_by_key(|row| (Reverse(row.split('/').nth(3).map(str::to_owned)), numbers(row)));
    rows.dedup();
    let bound = |row: &str| {
        let ids = OVER_A_LINE.map(|subject| format!("line/{row}/{subject}"));
        ids.iter().find_map(|id| figures.get(id, "bound")).map(plain)
    };
    let mut columns: Vec<Column<'_>> = vec![("least seconds".to_owned(), Box::new(bound))];
    columns.extend(OVER_A_LINE.map(|subject| -> Column<'_> {
        let show = move |row: &str| ratio(figures, &format!("line/{row}/{subject}"), "ratio");
        (subject.to_owned(), Box::new(show))
    }));
    let corner = "round trip, ms | Mbit/s | lost, % | congestion | connections";
    table(corner, &borrowed(&in_cells(&rows)), &columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let mut figures = Figures::default();
        let csv = "id,median,per_second\nlinks/8KB/ours,6000,1e9\nlinks/8KB/scraper,110000,\n";
        figures.add_csv(csv).unwrap();
        figures
    }

    #[test]
    fn rows_and_columns_without_figures_are_left_out() {
        let expected = "|  | a page of 8 KB, µs | MB/s of 8 KB |\n|---|--:|--:|\n\
                        | ours | 6.00 | 1,000 |\n| scraper | 110 | – |\n";
        assert_eq!(links(&figures()), expected);
        assert_eq!(growth(&figures()), "*Not measured.*\n");
    }

    #[test]
    fn the_name_of_a_row_may_have_two_cells() {
        let mut figures = Figures::default();
        figures.add_csv("id,heap_per_fetch\nmemory/smol/1000,65.4\n").unwrap();
        let expected = "| bytes a fetch | in flight | heap |\n|---|---|--:|\n\
                        | smol | 1,000 | 65 |\n";
        assert_eq!(memory_kinds(&figures), expected);
    }

    #[test]
    fn crawls_over_lines_are_in_the_order_of_their_numbers() {
        let mut figures = Figures::default();
        let csv = "id,bound,ratio.median,ratio.lower,ratio.upper\n\
                   line/100/10/0/cubic/5/stage3-queue,40,1.05,1.04,1.06\n\
                   line/20/10/0/cubic/10/stage3-queue,14,1.01,1,1.02\n\
                   line/20/10/0/cubic/5/stage3-queue,14,1,1,1\n\
                   line/20/10/0/cubic/5/wget2,14,2,1.5,3\n";
        figures.add_csv(csv).unwrap();
        let shown = line(&figures);
        let rows: Vec<_> = shown.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| 20 | 10 | 0 | cubic | 5 | 14.0 | 1.00 | 2.00 (1.50–3.00) |",
                "| 20 | 10 | 0 | cubic | 10 | 14.0 | 1.01 (1.00–1.02) | – |",
                "| 100 | 10 | 0 | cubic | 5 | 40.0 | 1.05 (1.04–1.06) | – |",
            ]
        );
    }

    #[test]
    fn a_table_has_an_anchor() {
        let text = all(&figures(), &[]);
        for name in ["taken", "links"] {
            assert_eq!(crate::source::anchor_error(&text, name), None, "{name}");
        }
    }
}
