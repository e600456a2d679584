//! The plots of the book: the figures that are drawn, and in what form.

use super::figures::Figures;
use super::plot::{Caption, Lines, Rows, Scale};
use super::scale;
use super::tables::{CRAWLERS, EXTRACTORS, GROWING, GROWTH, OPERATIONS, RUNTIMES, USUAL};

/// Draws all plots; returns them with the names of their files. Plots without
/// figures are left out.
pub(super) fn all(figures: &Figures) -> Vec<(String, String)> {
    let plots = [
        ("throughput", throughput(figures)),
        ("memory", memory(figures)),
        ("scheduling", scheduling(figures)),
        ("links", links(figures)),
        ("growth", growth(figures)),
        ("growth-memory", growth_memory(figures)),
        ("scale", scale::draw_workers(figures)),
        ("scale-rest", scale::draw_rest(figures)),
        ("scale-memory", scale::draw_memory(figures)),
    ];
    let file = |(name, plot): (&str, Option<String>)| Some((format!("{name}.svg"), plot?));
    plots.into_iter().filter_map(file).collect()
}

/// Returns the rows of the subjects that have a figure.
fn rows<'a>(
    subjects: impl Iterator<Item = (&'a str, Vec<Option<f64>>)>,
) -> Vec<(String, Vec<Option<f64>>)> {
    let has_any = |(_, marks): &(&str, Vec<Option<f64>>)| marks.iter().any(Option::is_some);
    subjects.filter(has_any).map(|(name, marks)| (name.to_owned(), marks)).collect()
}

fn named(series: &[&str]) -> Vec<String> {
    series.iter().map(|&name| name.to_owned()).collect()
}

fn drawn(plot: Rows) -> Option<String> {
    (!plot.rows.is_empty()).then(|| plot.draw())
}

fn throughput(figures: &Figures) -> Option<String> {
    let speed = |subject: &str| {
        figures.get(&format!("paired/{USUAL}/{subject}"), "pages_per_second.median")
    };
    drawn(Rows {
        caption: Caption {
            name: "throughput",
            title: "Pages a second, pages of 8 KB, 100 at a time",
            unit: "pages a second",
        },
        scale: Scale::Linear,
        series: named(&["speed"]),
        rows: rows(CRAWLERS.into_iter().map(|subject| (subject, vec![speed(subject)]))),
    })
}

fn memory(figures: &Figures) -> Option<String> {
    let marks = |subject: &'static str| {
        // A thousand fetches in flight, which all subjects can have.
        let get = |kind: &str| figures.get(&format!("memory/{subject}/1000"), kind);
        let positive = |kind| get(kind).filter(|&bytes| bytes >= 1.0);
        let kinds = ["heap_per_fetch", "resident_per_fetch", "reserved_per_fetch"];
        (subject, kinds.map(positive).to_vec())
    };
    drawn(Rows {
        caption: Caption {
            name: "memory",
            title: "What each of 1,000 fetches in flight takes, three ways to count",
            unit: "bytes a fetch",
        },
        scale: Scale::Log,
        series: named(&["heap", "resident", "reserved"]),
        rows: rows(CRAWLERS.into_iter().map(marks)),
    })
}

fn scheduling(figures: &Figures) -> Option<String> {
    let marks = |(what, shown)| {
        let get = |name| figures.get(&format!("scheduling/{what}/{name}"), "median");
        (shown, RUNTIMES.map(get).to_vec())
    };
    drawn(Rows {
        caption: Caption {
            name: "scheduling",
            title: "What taking turns costs, in four runtimes",
            unit: "nanoseconds",
        },
        scale: Scale::Log,
        series: named(&RUNTIMES),
        rows: rows(OPERATIONS.into_iter().map(marks)),
    })
}

fn links(figures: &Figures) -> Option<String> {
    let marks = |subject| {
        let speed = |page| figures.get(&format!("links/{page}/{subject}"), "per_second");
        (subject, ["8KB", "60KB"].map(|page| speed(page).map(|bytes| bytes / 1e6)).to_vec())
    };
    drawn(Rows {
        caption: Caption {
            name: "links",
            title: "How fast links are found, in pages of 8 and of 60 KB",
            unit: "MB a second",
        },
        scale: Scale::Log,
        series: named(&["8 KB", "60 KB"]),
        rows: rows(EXTRACTORS.into_iter().map(marks)),
    })
}

fn growth(figures: &Figures) -> Option<String> {
    lines(
        figures,
        Caption {
            name: "growth",
            title: "Pages a second over the size of the site",
            unit: "pages a second",
        },
        "pages_per_second",
    )
}

fn growth_memory(figures: &Figures) -> Option<String> {
    lines(
        figures,
        Caption {
            name: "growth-memory",
            title: "The most memory over the size of the site",
            unit: "bytes resident at the most",
        },
        "peak",
    )
}

fn lines(figures: &Figures, caption: Caption, quantity: &str) -> Option<String> {
    let line = |subject: &str| {
        let point = |pages: &str| {
            let y = figures.get(&format!("growth/{subject}/{pages}"), quantity)?;
            Some((pages.parse().ok()?, y))
        };
        (subject.to_owned(), GROWTH.into_iter().filter_map(point).collect::<Vec<_>>())
    };
    let series: Vec<_> =
        GROWING.into_iter().map(line).filter(|(_, points)| !points.is_empty()).collect();
    let over = "pages of the site";
    (!series.is_empty()).then(|| Lines { caption, over, series }.draw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_without_figures_are_left_out() {
        let mut figures = Figures::default();
        assert_eq!(all(&figures), []);
        figures.add_csv("id,peak\ngrowth/stage3-queue/1000,5e6\n").unwrap();
        let drawn = all(&figures);
        assert_eq!(drawn.len(), 1);
        assert_eq!(drawn[0].0, "growth-memory.svg");
        assert!(drawn[0].1.contains("stage3-queue: 5,000,000 at 1k"), "{}", drawn[0].1);
    }
}
