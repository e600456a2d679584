//! The tables of the peers, in Markdown.

use demo_site::planted;

use super::figures::Figures;
use super::numbers::{plain, whole};
use crate::peers::timed::LIMIT;
use crate::peers::tools::{OURS, TOOLS, WITH_FRAGMENTS};

/// A column: its title, and its cell for the id of a tool on a site.
type Column = (String, fn(&Figures, &str) -> Option<String>);

/// Renders the finds of the tools on the planted site.
pub(super) fn planted_site(figures: &Figures) -> String {
    let of = |quantity| figures.get("peers/planted", quantity).map_or("?".into(), whole);
    let columns: [Column; 9] = [
        (format!("faults, of {}", of("faults")), |of, id| count(of, id, "found")),
        (format!("fragments, of {}", of("fragments")), |of, id| count(of, id, "fragments")),
        ("false alarms".to_owned(), |of, id| count(of, id, "wrong")),
        ("crashes".to_owned(), |of, id| count(of, id, "crashes")),
        ("lines".to_owned(), |of, id| count(of, id, "lines")),
        ("requests".to_owned(), |of, id| count(of, id, "requests")),
        ("time, s".to_owned(), time),
        ("CPU, s".to_owned(), |of, id| of.get(id, "cpu").map(plain)),
        ("memory, MB".to_owned(), memory),
    ];
    table(figures, "planted", &columns)
}

/// Renders the costs and finds of the tools on pages of others.
pub(super) fn real_site(figures: &Figures) -> String {
    let faults = figures.get("peers/real", "faults").map_or("?".into(), whole);
    let columns: [Column; 8] = [
        (format!("broken, of {faults}"), |of, id| count(of, id, "found")),
        ("false alarms".to_owned(), |of, id| count(of, id, "wrong")),
        ("lines".to_owned(), |of, id| count(of, id, "lines")),
        ("requests".to_owned(), |of, id| count(of, id, "requests")),
        ("time, s".to_owned(), time),
        ("CPU, s".to_owned(), |of, id| of.get(id, "cpu").map(plain)),
        ("memory, MB".to_owned(), memory),
        ("crawl's CPU ÷ its CPU".to_owned(), ratio),
    ];
    table(figures, "real", &columns)
}

/// Renders the costs of many plain pages.
pub(super) fn plain_pages(figures: &Figures) -> String {
    let columns: [Column; 7] = [
        ("lines".to_owned(), |of, id| count(of, id, "lines")),
        ("requests".to_owned(), |of, id| count(of, id, "requests")),
        ("time, s".to_owned(), time),
        ("CPU, s".to_owned(), |of, id| of.get(id, "cpu").map(plain)),
        ("pages per s of CPU".to_owned(), pages_per_cpu_second),
        ("memory, MB".to_owned(), memory),
        ("crawl's CPU ÷ its CPU".to_owned(), |of, id| is_whole(of, id).then(|| ratio(of, id))?),
    ];
    table(figures, "generated", &columns)
}

/// Renders the plants that not every tool finds.
pub(super) fn plants(figures: &Figures) -> String {
    let present = |name: &&str| figures.get(&format!("peers/planted/{name}"), "found").is_some();
    // What `crawl` finds by itself is among what it finds with fragments.
    let names = TOOLS.iter().map(|tool| tool.name).filter(|name| *name != OURS);
    let names: Vec<_> = names.filter(present).collect();
    if names.is_empty() {
        return "*Not measured.*\n".to_owned();
    }
    let title = |name: &&str| if *name == WITH_FRAGMENTS { OURS } else { name }.to_owned();
    let titles: Vec<_> = names.iter().map(title).collect();
    let mut text = format!("| | {} |\n|---|{}\n", titles.join(" | "), ":-:|".repeat(names.len()));
    for plant in (0..planted::COUNT).filter_map(planted::plant) {
        let id = format!("peers/plant/{}", plant.name);
        let found: Vec<_> = names.iter().map(|name| figures.get(&id, name)).collect();
        if found.contains(&Some(0.0)) {
            let cells = found.iter().map(|found| if *found == Some(1.0) { "yes" } else { "–" });
            text += &format!("| {} | {} |\n", plant.name, cells.collect::<Vec<_>>().join(" | "));
        }
    }
    text
}

/// Renders the command of each tool.
pub(super) fn commands() -> String {
    let row =
        |tool: &crate::peers::tools::Tool| format!("| {} | `{}` |\n", tool.name, tool.shown());
    "| | command |\n|---|---|\n".to_owned() + &TOOLS.iter().map(row).collect::<String>()
}

/// Renders a table with a row for each tool, those that could not be had among them.
fn table(figures: &Figures, site: &str, columns: &[Column]) -> String {
    if figures.get(&format!("peers/{site}/{OURS}"), "cpu").is_none() {
        return "*Not measured.*\n".to_owned();
    }
    let titles: Vec<_> = columns.iter().map(|(title, _)| title.as_str()).collect();
    let mut text = format!("| | {} |\n|---|{}\n", titles.join(" | "), "--:|".repeat(columns.len()));
    for tool in TOOLS {
        let id = format!("peers/{site}/{}", tool.name);
        let is_there = figures.get(&id, "cpu").is_some();
        // Fragments are planted, and not looked for elsewhere.
        if !is_there && tool.name == WITH_FRAGMENTS {
            continue;
        }
        let cells = columns.iter().map(|(_, show)| show(figures, &id).unwrap_or("–".into()));
        let cells = cells.collect::<Vec<_>>().join(" | ");
        let name =
            if is_there { tool.name.to_owned() } else { format!("{} (not to be had)", tool.name) };
        text += &format!("| {name} | {cells} |\n");
    }
    text
}

fn count(figures: &Figures, id: &str, quantity: &str) -> Option<String> {
    figures.get(id, quantity).map(|value| format!("{value:.0}"))
}

fn timed_out(figures: &Figures, id: &str) -> bool {
    figures.get(id, "timed_out") == Some(1.0)
}

fn time(figures: &Figures, id: &str) -> Option<String> {
    let wall = figures.get(id, "wall")?;
    let limit = LIMIT.as_secs();
    Some(if timed_out(figures, id) { format!("over {limit}") } else { plain(wall) })
}

fn memory(figures: &Figures, id: &str) -> Option<String> {
    figures.get(id, "memory").map(|bytes| plain(bytes / 1e6))
}

fn ratio(figures: &Figures, id: &str) -> Option<String> {
    let get = |part: &str| figures.get(id, &format!("cpu_ratio.{part}"));
    let (lower, median, upper) = (get("lower")?, get("median")?, get("upper")?);
    // It has run once, or not to its end.
    Some(if timed_out(figures, id) {
        format!("under {median:.3}")
    } else if lower == upper {
        format!("{median:.3}")
    } else {
        format!("{median:.3} ({lower:.3}–{upper:.3})")
    })
}

/// Returns true if a tool has asked for as many pages as there are, or was stopped on the way.
fn is_whole(figures: &Figures, id: &str) -> bool {
    let pages = figures.get("peers/generated", "pages");
    timed_out(figures, id) || figures.get(id, "asked_pages") >= pages
}

fn pages_per_cpu_second(figures: &Figures, id: &str) -> Option<String> {
    let pages = figures.get(id, "asked_pages")?;
    is_whole(figures, id).then(|| Some(plain(pages / figures.get(id, "cpu")?)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let mut figures = Figures::default();
        let csv = "id,aiohttp,asked_pages,cpu,cpu_ratio.lower,cpu_ratio.median,cpu_ratio.upper,\
                   crawl +fragments,found,lines,memory,pages,requests,timed_out,wall\n\
                   peers/generated,,,,,,,,,,,5000,,,\n\
                   peers/generated/crawl,,5000,0.1,1,1,1,,,1,8e6,,5001,0,0.2\n\
                   peers/generated/aiohttp,,5000,2.5,0.03,0.04,0.05,,,5001,4e7,,5001,0,3.1\n\
                   peers/generated/blc,,450,90,0.001,0.001,0.001,,,,2e8,,900,1,120\n\
                   peers/planted/crawl +fragments,,,,,,,,3,,,,,,\n\
                   peers/planted/aiohttp,,,,,,,,2,,,,,,\n\
                   peers/plant/img,0,,,,,,1,,,,,,,\npeers/plant/a,1,,,,,,1,,,,,,,\n";
        figures.add_csv(csv).unwrap();
        figures
    }

    #[test]
    fn a_row_says_what_a_tool_takes_or_that_it_is_missing() {
        let table = plain_pages(&figures());
        let rows = [
            "| crawl | 1 | 5001 | 0.200 | 0.100 | 50,000 | 8.00 | 1.000 |\n",
            "| aiohttp | 5001 | 5001 | 3.10 | 2.50 | 2,000 | 40.0 | 0.040 (0.030–0.050) |\n",
            "| blc | – | 900 | over 120 | 90.0 | 5.00 | 200 | under 0.001 |\n",
            "| lychee (not to be had) | – | – | – | – | – | – | – |\n",
        ];
        for row in rows {
            assert!(table.contains(row), "{row}{table}");
        }
        assert!(!table.contains(WITH_FRAGMENTS), "{table}");
        assert_eq!(real_site(&figures()), "*Not measured.*\n");
    }

    #[test]
    fn the_plants_that_a_tool_misses_are_listed() {
        let expected = "| | crawl | aiohttp |\n|---|:-:|:-:|\n| img | yes | – |\n";
        assert_eq!(plants(&figures()), expected);
    }
}
