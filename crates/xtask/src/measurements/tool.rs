//! The tables of what the program `crawl` costs, in Markdown.

use super::figures::Figures;
use super::numbers::{plain, whole};
use super::tables::{Column, table};

/// The rows of the first table: the id of a figure, its quantity, its unit, and the name.
const COSTS: [(&str, &str, f64, &str); 7] = [
    ("build/default", "seconds", 1.0, "seconds to build it"),
    ("build/default", "crates", 1.0, "crates it is built from"),
    ("build/full", "seconds", 1.0, "seconds to build it with all features"),
    ("build/full", "crates", 1.0, "crates it is built from then"),
    ("start/http", "median", 1.0, "ms from its start to its first request, http"),
    ("start/https", "median", 1.0, "the same, https"),
    ("resident/1000", "median", 1e6, "MB resident at the most, 1,000 pages"),
];

/// Renders the costs of the program.
pub(super) fn costs(figures: &Figures) -> String {
    let keys: Vec<_> = (0..COSTS.len()).map(|index| index.to_string()).collect();
    let rows: Vec<_> = keys.iter().zip(COSTS).map(|(key, (.., name))| (&**key, name)).collect();
    let cell = |key: &str| {
        let (id, quantity, unit, _) = COSTS[key.parse::<usize>().ok()?];
        let value = figures.get(&format!("tool/{id}"), quantity)? / unit;
        Some(if quantity == "crates" { whole(value) } else { plain(value) })
    };
    table("", &rows, &[("measured".to_owned(), Box::new(cell))])
}

/// Renders the seconds that the dependencies take to build, the longest first.
pub(super) fn crates(figures: &Figures) -> String {
    const PREFIX: &str = "tool/crate/";
    let seconds = |name: &str| figures.get(&format!("{PREFIX}{name}"), "seconds");
    let mut names: Vec<_> = figures.ids(PREFIX).filter_map(|id| id.strip_prefix(PREFIX)).collect();
    names.sort_by(|one, other| {
        seconds(other).unwrap_or(0.0).total_cmp(&seconds(one).unwrap_or(0.0))
    });
    let rows: Vec<_> = names
        .iter()
        .map(|&name| (name, if name == "link" { "the program, over all crates" } else { name }))
        .collect();
    let column: Column<'_> =
        ("seconds of a core".to_owned(), Box::new(|name| seconds(name).map(plain)));
    table("crate", &rows, &[column])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_sorted_by_their_seconds() {
        let mut figures = Figures::default();
        let csv = "id,seconds,crates\ntool/crate/a,1,\ntool/crate/link,30,\n\
                   tool/crate/b,2,\ntool/build/default,90,134\n";
        figures.add_csv(csv).unwrap();
        assert_eq!(
            crates(&figures),
            "| crate | seconds of a core |\n|---|--:|\n\
             | the program, over all crates | 30.0 |\n| b | 2.00 |\n| a | 1.00 |\n"
        );
        assert_eq!(
            costs(&figures),
            "|  | measured |\n|---|--:|\n| seconds to build it | 90.0 |\n\
             | crates it is built from | 134 |\n"
        );
    }
}
