//! The bench `scale`: crawls of a hundred thousand hosts in the model of
//! [`simulation::scale`], and what limits them. It takes a minute of a release build, and
//! gives the same figures each time.
#![allow(clippy::print_stdout)] // A program for people at a terminal.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs, io};

use simulation::scale::{Scale, State};

/// The numbers of workers.
const WORKERS: [u32; 6] = [1, 3, 10, 30, 100, 300];

/// The seconds at which the rest of a crawl is looked at.
const SECONDS: [u64; 17] = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 200, 300, 500, 700, 1_000];

/// The beginning of a crawl that goes on for days, so that there are always hosts that
/// may be asked.
const BEGINNING: Scale = Scale { largest: 2_500_000, ..Scale::LARGE };

/// The figures, by the ids of crawls.
type Figures = BTreeMap<String, BTreeMap<&'static str, f64>>;

fn main() -> io::Result<()> {
    let mut figures = Figures::new();
    let slow = Scale { pause: Duration::from_secs(10), ..BEGINNING };
    let four = Scale { servers: 4, partitions: 16, ..BEGINNING };
    let sixteen = Scale { servers: 16, partitions: 64, ..BEGINNING };
    for (name, scale) in [
        ("one server", BEGINNING),
        ("pauses of 10 s", slow),
        ("4 servers", four),
        ("16 servers", sixteen),
    ] {
        for workers in WORKERS {
            let id = format!("scale/workers/{name}/{workers}");
            begin(&mut figures, id, Scale { workers, ..scale })?;
        }
    }
    let far = Scale { round_trip: Duration::from_millis(100), ..BEGINNING };
    for (name, scale) in [
        ("100 ms to the server and back", far),
        ("10 tasks in each worker", Scale { tasks: 10, ..BEGINNING }),
        ("16 partitions on one server", Scale { partitions: 16, ..BEGINNING }),
    ] {
        begin(&mut figures, format!("scale/workers/{name}/100"), scale)?;
    }
    let limited = Scale { max_pages_per_host: 1_000, ..Scale::LARGE };
    for (name, scale) in [("1,000 pages a host at most", limited), ("no limit", Scale::LARGE)] {
        end(&mut figures, name, scale)?;
    }
    if let Some(folder) = env::var_os("FIGURES_HOME") {
        fs::write(PathBuf::from(folder).join("scale.json"), serde_json::to_vec_pretty(&figures)?)?;
    }
    Ok(())
}

/// Runs the beginning of a crawl.
fn begin(figures: &mut Figures, id: String, scale: Scale) -> io::Result<()> {
    // As long as each host is asked as often as any other.
    let begin = scale.pause.max(Duration::from_secs(5));
    let states = scale.run([begin, 2 * begin])?;
    if let [before, after] = states[..] {
        keep(figures, id, before, after, &[]);
    }
    Ok(())
}

/// Runs a crawl to its end, or for as long as it is looked at.
fn end(figures: &mut Figures, name: &str, scale: Scale) -> io::Result<()> {
    let pages = scale.pages() as f64;
    let mut before = State::default();
    for state in scale.run(SECONDS.map(Duration::from_secs))? {
        let left = 1.0 - state.done as f64 / pages;
        let id = format!("scale/rest/{name}/{:.0}", state.at.as_secs_f64());
        keep(figures, id, before, state, &[("left", left), ("pages", pages)]);
        before = state;
    }
    Ok(())
}

/// Keeps and prints what has happened between two moments of a crawl.
fn keep(
    figures: &mut Figures,
    id: String,
    before: State,
    after: State,
    more: &[(&'static str, f64)],
) {
    let seconds = (after.at - before.at).as_secs_f64();
    let pages = (after.done - before.done) as f64;
    let calls = (after.calls.scripts() - before.calls.scripts()) as f64;
    let busy = (after.busy - before.busy).as_secs_f64() / seconds;
    let (speed, calls) = (pages / seconds, calls / pages.max(1.0));
    println!("{id:56} {speed:8.0} pages/s, {calls:6.2} calls a page, {busy:.2} busy");
    let row = [("pages_per_second", speed), ("calls_per_page", calls), ("busy", busy)];
    figures.insert(id, row.into_iter().chain(more.iter().copied()).collect());
}
