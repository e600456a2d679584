//! The aims: limits for figures, compared with the measured figures.

use super::figures::Figures;
use super::numbers::plain;

/// An aim: a figure, and the limit that it must not exceed or fall below.
struct Aim {
    what: &'static str,
    is_least: bool,
    limit: f64,
    measured: fn(&Figures) -> Option<f64>,
}

const fn at_most(limit: f64, what: &'static str, measured: fn(&Figures) -> Option<f64>) -> Aim {
    Aim { what, is_least: false, limit, measured }
}

const fn at_least(limit: f64, what: &'static str, measured: fn(&Figures) -> Option<f64>) -> Aim {
    Aim { what, is_least: true, limit, measured }
}

const AIMS: [Aim; 41] = [
    at_most(1.0, "CPU a page, by tokio-hyper's, 100 tasks", |of| {
        cpu(of, "8KB-100-tasks/tokio-hyper")
    }),
    at_most(1.0, "the same, 10 tasks", |of| cpu(of, "8KB-10-tasks/tokio-hyper")),
    at_most(1.1, "CPU a page, by tokio-raw's, 100 tasks", |of| cpu(of, "8KB-100-tasks/tokio-raw")),
    at_most(1.1, "the same, 10 tasks", |of| cpu(of, "8KB-10-tasks/tokio-raw")),
    at_most(0.25, "CPU a page, by spider's, 100 tasks", |of| cpu(of, "8KB-100-tasks/spider")),
    at_most(0.25, "the same, 10 tasks", |of| cpu(of, "8KB-10-tasks/spider")),
    at_most(0.25, "time a page, by spider's, 100 tasks", |of| {
        of.get("paired/8KB-100-tasks/spider", "wall_ratio.median")
    }),
    at_most(0.167, "CPU a page, by spider's, 100 tasks, the newer aim", |of| {
        cpu(of, "8KB-100-tasks/spider")
    }),
    at_most(0.04, "CPU a page, by that of the chapter's structure on aiohttp", |of| {
        of.get("peers/generated/aiohttp", "cpu_ratio.median")
    }),
    at_most(1.0, "CPU a page of https, by tokio-rustls's", |of| {
        cpu(of, "8KB-100-tasks-https/tokio-rustls")
    }),
    at_most(1.15, "instructions a page, stage 2 by stage 1", |of| {
        instructions(of, "stage2_close", "stage1_close")
    }),
    at_most(1.15, "instructions a page, stage 1 by bare-mio", |of| {
        instructions(of, "stage1_close", "bare_mio_close")
    }),
    at_most(1.5, "instructions a page, stage 3 by bare-mio", |of| {
        instructions(of, "stage3", "bare_mio")
    }),
    at_most(320.0, "bytes of the heap a fetch of 10,000, stage 1", |of| {
        heap(of, "stage1-callbacks")
    }),
    at_most(512.0, "the same, stage 2", |of| heap(of, "stage2-coroutines")),
    at_most(780.0, "the same, the newer aim", |of| heap(of, "stage2-coroutines")),
    at_most(900.0, "the same, stage 3", |of| heap(of, "stage3-queue")),
    at_most(1000.0, "the same, the newer aim", |of| heap(of, "stage3-queue")),
    at_most(1100.0, "bytes resident a fetch of 19,000, stage 3", |of| {
        of.get("memory/stage3-queue/19000", "resident_per_fetch")
    }),
    at_most(32.0, "MB resident with 19,000 in flight, stage 3", |of| {
        Some(of.get("memory/stage3-queue/19000", "all.resident")? / 1e6)
    }),
    at_most(0.5, "ns a switch, by tokio's", |of| scheduling(of, "switch")),
    at_most(0.6, "the same, the newer aim", |of| scheduling(of, "switch")),
    at_most(0.65, "ns to spawn and await, by tokio's", |of| scheduling(of, "spawn")),
    at_most(0.75, "the same, the newer aim", |of| scheduling(of, "spawn")),
    at_most(1.1, "ns to be woken by a thread, by tokio's", |of| scheduling(of, "foreign-wake")),
    at_most(0.5, "10,000 pages of 1 s: seconds more than bare-mio, stage 3", |of| {
        let seconds = |subject: &str| of.get(&format!("c10k/{subject}"), "wall_seconds");
        Some(seconds("stage3-queue")? - seconds("bare-mio")?)
    }),
    at_least(0.8, "pages/s at 1,000,000 pages, by those at 10,000", |of| {
        speed_of_a_million(of, "stage3-queue")
    }),
    at_least(0.85, "the same, the newer aim", |of| speed_of_a_million(of, "stage3-queue")),
    at_least(0.85, "the same, in huge pages", |of| {
        speed_of_a_million(of, "stage3-queue-huge-pages")
    }),
    at_most(150.0, "bytes a known URL beside its text, at 1,000,000", bytes_of_a_million),
    at_most(130.0, "the same, the newer aim", bytes_of_a_million),
    at_most(400.0, "ns to admit a link, with 10,000,000 URLs known", |of| {
        of.get("growth/known/10000000", "nanoseconds_per_link")
    }),
    at_most(2.5, "GB resident for 10,000,000 known URLs", |of| {
        Some(of.get("growth/known/10000000", "resident")? / 1e9)
    }),
    at_least(2.2, "GB/s to find links, 8 KB", |of| gigabytes(of, "links/8KB/ours")),
    at_least(2.5, "the same, 60 KB", |of| gigabytes(of, "links/60KB/ours")),
    at_most(1.1, "time over a line that loses nothing, by the bound, at the most", |of| {
        let is_fine =
            |id: &&str| id.split('/').nth(3) == Some("0") && id.ends_with("/stage3-queue");
        of.ids("line/").filter(is_fine).filter_map(|id| of.get(id, "ratio.median")).reduce(f64::max)
    }),
    at_most(5.0, "ms from the start of `crawl` to its first request, http", |of| {
        of.get("tool/start/http", "median")
    }),
    at_most(15.0, "the same, https with the system's roots", |of| {
        of.get("tool/start/https", "median")
    }),
    at_most(8.0, "MB resident at the most, `crawl` on 1,000 pages", |of| {
        Some(of.get("tool/resident/1000", "median")? / 1e6)
    }),
    at_most(150.0, "crates that `crawl` is built from", |of| {
        of.get("tool/build/default", "crates")
    }),
    at_most(75.0, "seconds to build it", |of| of.get("tool/build/default", "seconds")),
];

fn cpu(figures: &Figures, of: &str) -> Option<f64> {
    figures.get(&format!("paired/{of}"), "cpu_ratio.median")
}

fn instructions(figures: &Figures, one: &str, other: &str) -> Option<f64> {
    let of =
        |name| figures.get(&format!("instructions/crawls/thousand_pages/{name}"), "instructions");
    Some(of(one)? / of(other)?)
}

fn heap(figures: &Figures, stage: &str) -> Option<f64> {
    figures.get(&format!("memory/{stage}/10000"), "heap_per_fetch")
}

fn speed_of_a_million(figures: &Figures, of: &str) -> Option<f64> {
    let speed = |pages: &str| figures.get(&format!("growth/{of}/{pages}"), "pages_per_second");
    Some(speed("1000000")? / speed("10000")?)
}

fn bytes_of_a_million(figures: &Figures) -> Option<f64> {
    figures.get("growth/stage3-queue/1000000", "bytes_per_url")
}

fn gigabytes(figures: &Figures, id: &str) -> Option<f64> {
    Some(figures.get(id, "per_second")? / 1e9)
}

fn scheduling(figures: &Figures, what: &str) -> Option<f64> {
    let of = |name, quantity| figures.get(&format!("scheduling/{what}/{name}"), quantity);
    // A ratio from alternating rounds is better than that of two medians.
    of("tokio", "ratio.median").or_else(|| Some(of("ours", "median")? / of("tokio", "median")?))
}

/// Renders all aims as a table in Markdown.
pub(super) fn table(figures: &Figures) -> String {
    let mut text = "| | aim | measured | |\n|---|--:|--:|---|\n".to_owned();
    for Aim { what, is_least, limit, measured } in &AIMS {
        let sign = if *is_least { "≥" } else { "≤" };
        let (shown, verdict) = match measured(figures) {
            None => ("–".to_owned(), "not measured"),
            Some(value) if *is_least == (value >= *limit) || value == *limit => {
                (plain(value), "reached")
            }
            Some(value) => (plain(value), "**missed**"),
        };
        text += &format!("| {what} | {sign} {limit} | {shown} | {verdict} |\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aims_are_reached_missed_or_not_measured() {
        let mut figures = Figures::default();
        let lines = "id,ratio.median\nline/20/10/0/cubic/5/stage3-queue,1.05\n\
                     line/20/10/0/cubic/10/stage3-queue,1.08\n\
                     line/20/10/1/cubic/10/stage3-queue,1.5\n\
                     line/20/10/0/cubic/10/wget2,1.4\n";
        figures.add_csv(lines).unwrap();
        let csv = "id,median,pages_per_second\nscheduling/switch/ours,20,\n\
                   scheduling/switch/tokio,40,\nscheduling/spawn/ours,30,\n\
                   scheduling/spawn/tokio,40,\ngrowth/stage3-queue/10000,,1000\n\
                   growth/stage3-queue/1000000,,900\n";
        figures.add_csv(csv).unwrap();
        let table = table(&figures);
        assert!(table.contains("| ns a switch, by tokio's | ≤ 0.5 | 0.500 | reached |"), "{table}");
        assert!(table.contains("by tokio's | ≤ 0.65 | 0.750 | **missed** |"), "{table}");
        assert!(table.contains("10,000 | ≥ 0.8 | 0.900 | reached |"), "{table}");
        assert!(table.contains("by spider's, 100 tasks | ≤ 0.25 | – | not measured |"), "{table}");
    }
}
