//! The provenance of figures: the date, commit, machine, versions and command.

use std::io;
use std::path::Path;
use std::process::Command;
use std::{fs, thread};

use serde::{Deserialize, Serialize};

/// The libraries that the stages use or are compared with.
const LIBRARIES: [&str; 14] = [
    "async-executor",
    "criterion",
    "futures",
    "html5ever",
    "html5gum",
    "httparse",
    "hyper",
    "lol_html",
    "mio",
    "rustls",
    "scraper",
    "tokio",
    "tokio-rustls",
    "url",
];

/// The peers, which are in a workspace of their own.
const PEERS: [&str; 3] = ["reqwest", "smol", "spider"];

/// The provenance of the figures of one bench. Its fields are the columns of
/// `taken.csv`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Provenance {
    pub(crate) bench: String,
    date: String,
    /// The commit, with a `+` if there were uncommitted changes.
    commit: String,
    seconds: u64,
    command: String,
    machine: String,
    versions: String,
}

impl Provenance {
    /// Returns the provenance of figures taken now, in the workspace at `root`.
    pub(crate) fn now(root: &Path, bench: &str, command: &str) -> io::Result<Self> {
        let cores = thread::available_parallelism()?;
        let system = output_of("uname", &["-srm"], root)?;
        let machine = format!("{cores} cores of {}, {system}", processor(root));
        let rustc = output_of("rustc", &["--version"], root)?;
        // Changes of the figures themselves do not count.
        let changes = ["status", "--porcelain", "--untracked-files=no", "--", ".", ":!book/src"];
        let dirty = !output_of("git", &changes, root)?.is_empty();
        let commit = output_of("git", &["rev-parse", "--short", "HEAD"], root)?;
        let read = |lock| fs::read_to_string(root.join(lock));
        Ok(Self {
            bench: bench.to_owned(),
            date: output_of("date", &["-u", "+%Y-%m-%d"], root)?,
            commit: commit + if dirty { "+" } else { "" },
            seconds: 0,
            command: command.to_owned(),
            machine,
            versions: format!(
                "{rustc}; {}, {}",
                libraries(&read("Cargo.lock")?, "benches", &LIBRARIES)?,
                libraries(&read("benches/peers/Cargo.lock")?, "peers", &PEERS)?
            ),
        })
    }

    /// Sets the duration of the bench.
    pub(crate) fn with_seconds(self, seconds: u64) -> Self {
        Self { seconds, ..self }
    }

    /// Sets the versions that matter instead of those of the libraries.
    pub(crate) fn with_versions(self, versions: &str) -> Self {
        Self { versions: versions.to_owned(), ..self }
    }

    /// Reads a table with a line for each bench.
    pub(crate) fn parse_all(text: &str) -> io::Result<Vec<Self>> {
        let lines = csv::Reader::from_reader(text.as_bytes()).into_deserialize();
        lines.map(|line| line.map_err(io::Error::other)).collect()
    }

    /// Writes such a table.
    pub(crate) fn write_all(all: &[Self]) -> io::Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for taken in all {
            writer.serialize(taken)?;
        }
        let bytes = writer.into_inner().map_err(|error| error.into_error())?;
        String::from_utf8(bytes).map_err(io::Error::other)
    }

    /// Renders the table in Markdown, with each machine and its versions once.
    pub(crate) fn table(all: &[Self]) -> String {
        let mut text =
            "| bench | date | commit | seconds | command |\n|---|---|---|--:|---|\n".to_owned();
        for Self { bench, date, commit, seconds, command, .. } in all {
            text += &format!("| {bench} | {date} | {commit} | {seconds} | `{command}` |\n");
        }
        text.push('\n');
        let mut machines: Vec<_> =
            all.iter().map(|taken| (&taken.machine, &taken.versions)).collect();
        machines.sort();
        machines.dedup();
        for (machine, versions) in &machines {
            let there =
                all.iter().filter(|taken| (&taken.machine, &taken.versions) == (machine, versions));
            let benches: Vec<_> = there.map(|taken| taken.bench.as_str()).collect();
            let which = if machines.len() == 1 { "all".to_owned() } else { benches.join(", ") };
            text += &format!("- {which}: {machine}; {versions}\n");
        }
        text
    }
}

/// Runs a program and returns its trimmed stdout.
fn output_of(program: &str, arguments: &[&str], folder: &Path) -> io::Result<String> {
    let output = Command::new(program).args(arguments).current_dir(folder).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("{program} ended with {}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns the name of the processor, as its maker calls it.
fn processor(root: &Path) -> String {
    let known = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let linux = known.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let mac = || output_of("sysctl", &["-n", "machdep.cpu.brand_string"], root).ok();
    let name = linux.map(|(_, name)| name.to_owned()).or_else(mac);
    name.unwrap_or_else(|| "an unknown processor".to_owned())
}

/// Returns the versions of those of these libraries that a package uses.
fn libraries(lock: &str, package_name: &str, names: &[&str]) -> io::Result<String> {
    #[derive(Deserialize)]
    struct Lock {
        package: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
        /// The names of dependencies, with the version if there are several.
        #[serde(default)]
        dependencies: Vec<String>,
    }
    let Lock { package } = toml::from_str(lock).map_err(io::Error::other)?;
    let of = |name: &str| package.iter().find(|package| package.name == name);
    let used = of(package_name).map_or(&[][..], |user| &user.dependencies);
    let shown = used.iter().filter_map(|used| {
        let name = used.split(' ').next()?;
        let is_alone = name == used;
        let known = names.contains(&name).then(|| of(name))??;
        Some(if is_alone { format!("{name} {}", known.version) } else { used.clone() })
    });
    Ok(shown.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_lock_file() {
        let lock = "[[package]]\nname = \"tokio\"\nversion = \"1.2.3\"\n\
                    [[package]]\nname = \"hyper\"\nversion = \"0.1.0\"\n\
                    [[package]]\nname = \"hyper\"\nversion = \"1.0.0\"\n\
                    [[package]]\nname = \"benches\"\nversion = \"0.1.0\"\n\
                    dependencies = [\"clap\", \"hyper 1.0.0\", \"tokio\"]\n";
        let shown = libraries(lock, "benches", &["hyper", "tokio"]);
        assert_eq!(shown.unwrap(), "hyper 1.0.0, tokio 1.2.3");
        assert!(libraries("[[package]]", "benches", &["tokio"]).is_err());
    }

    #[test]
    fn provenance_is_read_back_from_a_table() {
        let taken = Provenance {
            bench: "links".to_owned(),
            date: "2026-01-02".to_owned(),
            commit: "abc+".to_owned(),
            seconds: 7,
            command: "cargo bench, \"links\"".to_owned(),
            machine: "2 cores".to_owned(),
            versions: "rustc".to_owned(),
        };
        let all = [taken.clone(), Provenance { bench: "growth".to_owned(), ..taken.clone() }];
        assert_eq!(Provenance::parse_all(&Provenance::write_all(&all).unwrap()).unwrap(), all);
        let table = Provenance::table(&all);
        assert!(table.contains("| links | 2026-01-02 | abc+ | 7 | `cargo bench, \"links\"` |"));
        assert!(table.ends_with("\n- all: 2 cores; rustc\n"), "{table}");
        let other_machine = [taken.clone(), Provenance { machine: "3 cores".to_owned(), ..taken }];
        assert!(Provenance::table(&other_machine).ends_with("- links: 3 cores; rustc\n"));
    }
}
