//! The measurements of the book: runs the benches, keeps their figures as CSV, and
//! renders tables and drawings from them.

pub(crate) mod figures;
mod numbers;
mod peers;
mod plot;
mod plots;
pub(crate) mod provenance;
mod scale;
mod tables;
mod tool;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use figures::Figures;
use provenance::Provenance;

use crate::process::{target_folder, write_changed};

/// The folder of the figures, relative to the root of the workspace.
pub(crate) const FOLDER: &str = "book/src/measurements";
/// The table of provenance: the date, machine and command of each bench.
const PROVENANCE: &str = "taken.csv";
/// The comparisons of the paired runner: a workload, and the subjects. The first
/// subject is compared with the others.
const PAIRED: [(&str, &str); 5] = [
    (
        "8KB-100-tasks",
        "ours stage0-threads stage1-callbacks stage2-coroutines mio-floor bare-mio tokio-raw \
         tokio-hyper",
    ),
    ("8KB-10-tasks", "ours tokio-raw tokio-hyper"),
    (
        "8KB-100-tasks-close",
        "ours stage0-threads stage1-callbacks stage2-coroutines bare-mio tokio-raw",
    ),
    ("8KB-100-tasks-no-links", "ours mio-floor bare-mio tokio-raw tokio-hyper"),
    ("8KB-100-tasks-https", "ours tokio-rustls"),
];
/// The peers that are added to the first two comparisons if wanted, and what builds them.
const BUILD_PEERS: &str = "cargo build --release --manifest-path benches/peers/Cargo.toml";
const PEERS: &str = " reqwest smol spider";

/// All benches, in the order of their runs.
const BENCHES: [&str; 11] = [
    "paired",
    "throughput",
    "memory",
    "c10k",
    "scheduling",
    "links",
    "growth",
    "instructions",
    "line",
    "scale",
    "tool",
];

/// The arguments of the chore `measurements`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only this bench; may be given several times
    #[arg(long, value_name = "BENCH", value_parser = BENCHES)]
    only: Vec<String>,
    /// Compares with reqwest, smol and spider as well, which take long to build, in
    /// `paired` and `line`
    #[arg(long)]
    peers: bool,
}

/// Runs benches and writes their figures. Returns false if a count of instructions
/// is above its limit. A bench that fails leaves its old figures, and the others are run.
///
/// # Errors
/// When a bench has failed, or a file cannot be read or written.
pub(crate) fn measure(root: &Path, arguments: &Arguments) -> io::Result<bool> {
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let is_chosen = |bench: &&str| arguments.only.iter().any(|only| only == bench);
    let chosen: Vec<_> = if arguments.only.is_empty() {
        BENCHES.to_vec()
    } else {
        BENCHES.into_iter().filter(is_chosen).collect()
    };
    let target = target_folder()?;
    let outcome = run_all(&chosen, |bench| {
        let (taken, figures, is_good) = run(root, &target, bench, arguments.peers)?;
        keep(root, taken, &figures).map(|()| is_good)
    });
    draw(root)?;
    outcome
}

/// Runs each bench, also after one that has failed. Returns true if all are good.
///
/// # Errors
/// When benches have failed: those of all of them, with their names.
fn run_all(
    benches: &[&str],
    mut run_one: impl FnMut(&str) -> io::Result<bool>,
) -> io::Result<bool> {
    let mut good = true;
    let mut failures = Vec::new();
    for bench in benches {
        match run_one(bench) {
            Ok(is_good) => good &= is_good,
            Err(error) => failures.push(format!("{bench}: {error}")),
        }
    }
    if failures.is_empty() { Ok(good) } else { Err(io::Error::other(failures.join("; "))) }
}

/// Keeps the figures of a bench, with their provenance.
///
/// # Errors
/// When there are none, so that the old ones stay, or a file cannot be read or written.
pub(crate) fn keep(root: &Path, taken: Provenance, figures: &Figures) -> io::Result<()> {
    if figures.ids("").next().is_none() {
        let what = format!("{} has given no figures: the old ones stay", taken.bench);
        return Err(io::Error::other(what));
    }
    let folder = root.join(FOLDER);
    let csv = folder.join(format!("{}.csv", taken.bench));
    let known = fs::read_to_string(folder.join(PROVENANCE)).unwrap_or_default();
    let mut all = Provenance::parse_all(&known)?;
    all.retain(|other| other.bench != taken.bench);
    all.push(taken);
    let place = |bench: &str| BENCHES.iter().position(|it| *it == bench).unwrap_or(BENCHES.len());
    all.sort_by_key(|taken| place(&taken.bench));
    // Figures are not replaced if this fails.
    let all = Provenance::write_all(&all)?;
    fs::write(csv, figures.to_csv()?)?;
    fs::write(folder.join(PROVENANCE), all)
}

/// Writes the tables and drawings of all kept figures, which pages include.
pub(crate) fn draw(root: &Path) -> io::Result<()> {
    let folder = root.join(FOLDER);
    for (file, text) in render(|file| fs::read_to_string(folder.join(file)).ok())? {
        write_changed(&folder.join(file), text.as_bytes())?;
    }
    Ok(())
}

/// Renders tables and drawings from the CSV files that `read` returns. Returns the
/// texts with the names of their files.
pub(crate) fn render(read: impl Fn(&str) -> Option<String>) -> io::Result<Vec<(String, String)>> {
    let (taken, figures) = kept(read)?;
    if taken.is_empty() {
        return Ok(Vec::new());
    }
    let mut files = plots::all(&figures);
    files.push(("tables.md".to_owned(), tables::all(&figures, &taken)));
    Ok(files)
}

/// Returns all kept figures with their provenance, from the CSV files that `read`
/// returns.
pub(crate) fn kept(
    read: impl Fn(&str) -> Option<String>,
) -> io::Result<(Vec<Provenance>, Figures)> {
    let taken = Provenance::parse_all(&read(PROVENANCE).unwrap_or_default())?;
    let mut figures = Figures::default();
    for Provenance { bench, .. } in &taken {
        let file = format!("{bench}.csv");
        let missing = || io::Error::other(format!("{file} is missing"));
        figures.add_csv(&read(&file).ok_or_else(missing)?)?;
    }
    Ok((taken, figures))
}

/// Runs one bench. Returns its figures, and false if a limit was exceeded.
fn run(
    root: &Path,
    target: &Path,
    bench: &str,
    peers: bool,
) -> io::Result<(Provenance, Figures, bool)> {
    let kept = target.join("measurements");
    // Figures of earlier runs must not be read again.
    let criterion = kept.join("criterion").join(bench);
    let gungraun = kept.join("gungraun").join(bench);
    for old in [&criterion, &gungraun] {
        remove(old)?;
    }
    let is_old = |path: &Path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        name == bench || name.strip_prefix(bench).is_some_and(|rest| rest.starts_with('-'))
    };
    let files = || -> io::Result<Vec<PathBuf>> {
        fs::create_dir_all(&kept)?;
        let paths = fs::read_dir(&kept)?.map(|entry| Ok(entry?.path()));
        let paths: Vec<_> = paths.collect::<io::Result<_>>()?;
        Ok(paths.into_iter().filter(|path| path.is_file() && is_old(path)).collect())
    };
    for old in files()? {
        fs::remove_file(old)?;
    }

    let commands = commands(bench, peers);
    let taken = Provenance::now(root, bench, &commands[0])?;
    if peers && !run_command(root, BUILD_PEERS, &[])? {
        return Err(io::Error::other(format!("`{BUILD_PEERS}` has failed")));
    }
    // Builds first, so that no build is part of the time.
    for command in &commands {
        let build = command.split(" -- ").next().unwrap_or(command);
        let build = build.replace("cargo run", "cargo build");
        let no_run = if build.starts_with("cargo bench") { " --no-run" } else { "" };
        let build = format!("{build}{no_run}");
        if !run_command(root, &build, &[])? {
            return Err(io::Error::other(format!("`{build}` has failed")));
        }
    }
    let begun = Instant::now();
    let mut is_good = true;
    for command in &commands {
        println!("{command}");
        let environment =
            [("CRITERION_HOME", &criterion), ("GUNGRAUN_HOME", &gungraun), ("FIGURES_HOME", &kept)];
        is_good = run_command(root, command, &environment)?;
        // Only this bench has limits, and it runs to its end if one is exceeded.
        if !is_good && bench != "instructions" {
            return Err(io::Error::other(format!("`{command}` has failed")));
        }
    }
    let seconds = begun.elapsed().as_secs();

    let mut figures = Figures::default();
    if criterion.is_dir() {
        figures.add_criterion(&criterion)?;
    }
    // In folders named after the package and the bench.
    let counts = gungraun.join("benches/instructions");
    if counts.is_dir() {
        figures.add_callgrind(bench, &counts)?;
    }
    for file in files()? {
        figures.add_json(&fs::read_to_string(file)?)?;
    }
    Ok((taken.with_seconds(seconds), figures, is_good))
}

/// Returns the commands that run a bench.
fn commands(bench: &str, peers: bool) -> Vec<String> {
    match bench {
        "paired" => {
            let command = |(index, (workload, subjects)): (usize, &(&str, &str))| {
                let peers = if peers && index < 2 { PEERS } else { "" };
                format!(
                    "cargo run --release -p benches --bin paired -- \
                     throughput/{workload} {subjects}{peers}"
                )
            };
            PAIRED.iter().enumerate().map(command).collect()
        }
        "instructions" => {
            vec!["cargo bench -p benches --features instructions --bench instructions".to_owned()]
        }
        "line" => {
            let line = "cargo run --release -p benches --bin line --";
            let mut commands = vec![
                format!("{line} ours"),
                format!("{line} ours --rounds 1 --loss 1 --congestion bbr"),
                format!("{line} wget2 --rounds 1"),
                format!("{line} wget --rounds 1 --loss 0"),
            ];
            if peers {
                commands.push(format!("{line} spider aiohttp --rounds 1 --loss 0"));
                // It fetches one page of its list after another, whatever its limit.
                commands
                    .push(format!("{line} lychee --rounds 1 --loss 0 --delay 10 --connections 10"));
            }
            commands
        }
        "scale" => vec![
            "cargo run --release -p simulation --bin scale".to_owned(),
            "cargo run --release -p frontier-redis --example costs".to_owned(),
        ],
        "tool" => vec!["cargo run --release -p benches --bin tool".to_owned()],
        // These have no plots to turn off.
        "growth" | "memory" => vec![format!("cargo bench -p benches --bench {bench}")],
        _ => vec![format!("cargo bench -p benches --bench {bench} -- --noplot")],
    }
}

/// Runs a command. Returns true if it has succeeded.
fn run_command(root: &Path, command: &str, environment: &[(&str, &PathBuf)]) -> io::Result<bool> {
    let mut words = command.split_whitespace();
    let mut program = Command::new(words.next().unwrap_or_default());
    program.args(words).current_dir(root).envs(environment.iter().copied());
    Ok(program.status()?.success())
}

fn remove(folder: &Path) -> io::Result<()> {
    if folder.is_dir() { fs::remove_dir_all(folder) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bench_that_fails_leaves_the_others_to_be_run() {
        let mut ran = Vec::new();
        let result = run_all(&["links", "line", "tool"], |bench| {
            ran.push(bench.to_owned());
            if bench == "line" { Err(io::Error::other("disturbed")) } else { Ok(true) }
        });
        assert_eq!(result.unwrap_err().to_string(), "line: disturbed");
        assert_eq!(ran, ["links", "line", "tool"]);

        assert!(run_all(&["links", "tool"], |_| Ok(true)).unwrap());
        assert!(!run_all(&["links", "tool"], |bench| Ok(bench == "tool")).unwrap());
    }

    #[test]
    fn a_bench_without_figures_leaves_the_old_ones() {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str| root.path().join(FOLDER).join(name);
        let old = "bench,date,commit,seconds,command,machine,versions\n\
                   links,2026-01-02,abc,1,cargo bench,one,rustc\n";
        fs::create_dir_all(root.path().join(FOLDER)).unwrap();
        fs::write(file(PROVENANCE), old).unwrap();
        fs::write(file("links.csv"), "id,x\na,1\n").unwrap();
        let taken = || Provenance::parse_all(old).unwrap().remove(0).with_seconds(2);
        let error = keep(root.path(), taken(), &Figures::default()).unwrap_err();
        assert_eq!(error.to_string(), "links has given no figures: the old ones stay");
        let kept = || [PROVENANCE, "links.csv"].map(|name| fs::read_to_string(file(name)).unwrap());
        assert_eq!(kept(), [old, "id,x\na,1\n"]);

        let mut figures = Figures::default();
        figures.set("a", "x", 2.0);
        keep(root.path(), taken(), &figures).unwrap();
        assert_eq!(kept(), [&old.replace(",1,", ",2,"), "id,x\na,2\n"]);
    }
}
