//! What the benches find, as the book shows it: tables for other programs, and
//! made from them, those for readers and drawings.

mod aims;
mod figures;
mod numbers;
mod plot;
mod plots;
mod tables;
mod taken;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use figures::Figures;
use taken::{Taken, said};

/// Where they are kept, seen from the root of the workspace.
pub(crate) const FOLDER: &str = "book/src/measurements";
/// When, where and how the figures were taken.
const TAKEN: &str = "taken.csv";
/// What the paired runner compares, and with whom: the first is ours.
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
/// Whom it compares as well, in the first two, if they are built.
const PEERS: &str = " reqwest smol spider";

/// All benches, in the order in which they are run.
const BENCHES: [&str; 8] =
    ["paired", "throughput", "memory", "c10k", "scheduling", "links", "growth", "instructions"];

/// What is to be measured.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only this bench; may be given several times
    #[arg(long, value_name = "BENCH", value_parser = BENCHES)]
    only: Vec<String>,
    /// Compares with reqwest, smol and spider as well, which take long to build
    #[arg(long)]
    peers: bool,
    /// Measures nothing, and draws anew what is known
    #[arg(long, conflicts_with_all = ["only", "peers"])]
    draw: bool,
}

/// Runs benches, and writes down what they find. False if one of them has found
/// more instructions than it allows.
pub(crate) fn measure(root: &Path, arguments: &Arguments) -> io::Result<bool> {
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let is_chosen = |bench: &&str| arguments.only.iter().any(|only| only == bench);
    let chosen: Vec<_> = match (arguments.draw, arguments.only.is_empty()) {
        (true, _) => Vec::new(),
        (_, true) => BENCHES.to_vec(),
        _ => BENCHES.into_iter().filter(is_chosen).collect(),
    };
    let metadata = said("cargo", &["metadata", "--no-deps", "--format-version=1"], root)?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let target = metadata["target_directory"].as_str().ok_or(io::ErrorKind::NotFound)?;
    let mut good = true;
    for bench in chosen {
        let (taken, figures, is_good) = run(root, Path::new(target), bench, arguments.peers)?;
        good &= is_good;
        fs::write(folder.join(format!("{bench}.csv")), figures.to_csv()?)?;
        let known = fs::read_to_string(folder.join(TAKEN)).unwrap_or_default();
        let mut all = Taken::parse_all(&known)?;
        all.retain(|other| other.bench != bench);
        all.push(taken);
        all.sort_by_key(|taken| BENCHES.iter().position(|bench| *bench == taken.bench));
        fs::write(folder.join(TAKEN), Taken::write_all(&all)?)?;
    }
    for (file, text) in shown(|file| fs::read_to_string(folder.join(file)).ok())? {
        fs::write(folder.join(&file), text)?;
        println!("{FOLDER}/{file}");
    }
    Ok(good)
}

/// Everything that is made of the tables that `read` knows, by the names of the
/// files.
pub(crate) fn shown(read: impl Fn(&str) -> Option<String>) -> io::Result<Vec<(String, String)>> {
    let Some(taken) = read(TAKEN) else { return Ok(Vec::new()) };
    let taken = Taken::parse_all(&taken)?;
    let mut figures = Figures::default();
    for Taken { bench, .. } in &taken {
        let file = format!("{bench}.csv");
        let missing = || io::Error::other(format!("{file} is missing"));
        figures.add_csv(&read(&file).ok_or_else(missing)?)?;
    }
    let mut files = plots::all(&figures);
    files.push(("tables.md".to_owned(), tables::all(&figures, &taken)));
    Ok(files)
}

/// Runs one bench. Whether it was content, it says as well.
fn run(root: &Path, target: &Path, bench: &str, peers: bool) -> io::Result<(Taken, Figures, bool)> {
    let kept = target.join("measurements");
    // What was left there at other times is none of the figures of today.
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
    let taken = Taken::now(root, bench, &commands[0])?;
    let mut begun = Instant::now();
    let mut is_good = true;
    for (number, command) in commands.iter().enumerate() {
        println!("{command}");
        if number == 0 {
            // What it takes to build it says nothing about anything.
            let build = command.split(" -- ").next().unwrap_or(command);
            let build = build.replace("cargo run", "cargo build");
            let no_run = if build.starts_with("cargo bench") { " --no-run" } else { "" };
            let build = format!("{build}{no_run}");
            if !tell(root, &build, &[])? {
                return Err(io::Error::other(format!("`{build}` has failed")));
            }
            begun = Instant::now();
        }
        let environment = [("CRITERION_HOME", &criterion), ("GUNGRAUN_HOME", &gungraun)];
        is_good = tell(root, command, &environment)?;
        // This one has limits, and counts to the end when one is crossed.
        if !is_good && bench != "instructions" {
            return Err(io::Error::other(format!("`{command}` has failed")));
        }
    }
    let seconds = begun.elapsed().as_secs();

    let mut figures = Figures::default();
    if criterion.is_dir() {
        figures.add_criterion(&criterion)?;
    }
    // Below the names of the package and of the bench.
    let counts = gungraun.join("benches/instructions");
    if counts.is_dir() {
        figures.add_callgrind(bench, &counts)?;
    }
    for file in files()? {
        figures.add_json(&fs::read_to_string(file)?)?;
    }
    Ok((taken.took(seconds), figures, is_good))
}

/// How a bench is run, as one would type it.
fn commands(bench: &str, peers: bool) -> Vec<String> {
    let features = if peers { " --features peers" } else { "" };
    match bench {
        "paired" => {
            let command = |(index, (workload, subjects)): (usize, &(&str, &str))| {
                let peers = if peers && index < 2 { PEERS } else { "" };
                format!(
                    "cargo run --release -p benches{features} --bin paired -- \
                     throughput/{workload} {subjects}{peers}"
                )
            };
            PAIRED.iter().enumerate().map(command).collect()
        }
        "instructions" => {
            vec!["cargo bench -p benches --features instructions --bench instructions".to_owned()]
        }
        // These draw nothing.
        "growth" | "memory" => vec![format!("cargo bench -p benches{features} --bench {bench}")],
        _ => vec![format!("cargo bench -p benches{features} --bench {bench} -- --noplot")],
    }
}

/// Whether it has succeeded.
fn tell(root: &Path, command: &str, environment: &[(&str, &PathBuf)]) -> io::Result<bool> {
    let mut words = command.split_whitespace();
    let mut program = Command::new(words.next().unwrap_or_default());
    program.args(words).current_dir(root).envs(environment.iter().copied());
    Ok(program.status()?.success())
}

fn remove(folder: &Path) -> io::Result<()> {
    if folder.is_dir() { fs::remove_dir_all(folder) } else { Ok(()) }
}
