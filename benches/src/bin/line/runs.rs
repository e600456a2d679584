//! The runs, and their figures.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use std::{env, io, thread};

use benches::figures::{self, Quartiles};
use benches::line::{Line, LineCheck, LineOptions, Namespace, until_none_is_missed};
use benches::{Crawl, ServerProcess, Site, SubjectProcess, play_role_if_asked};
use clap::Parser;
use serde::Serialize;

/// The number of times that a line is checked before a crawl.
const MAX_CHECKS: u32 = 10;
/// The pause after a check that has failed.
const CHECK_PAUSE: Duration = Duration::from_secs(5);

/// Crawls a site over emulated lines, and compares the times with what is possible.
#[derive(Debug, Parser)]
struct Arguments {
    /// The subjects: ours (stage3-queue), wget, wget2, aiohttp, lychee, spider, or another one
    #[arg(default_value = "ours")]
    subjects: Vec<String>,

    /// Time from one end to the other, in milliseconds: half of a round trip
    #[arg(long, value_delimiter = ',', default_value = "10,50")]
    delay: Vec<u64>,

    /// Rate of the line, in millions of bits per second
    #[arg(long, value_delimiter = ',', default_value = "10,100",
        value_parser = clap::value_parser!(u64).range(1..))]
    bandwidth: Vec<u64>,

    /// Share of the packets that are lost, in percent
    #[arg(long, value_delimiter = ',', default_value = "0,1",
        value_parser = clap::value_parser!(u8).range(..100))]
    loss: Vec<u8>,

    /// The length of the queue before the wire, in packets
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    queue: u32,

    /// Decides which packets are lost
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// The congestion control: cubic, bbr, or what else the kernel has
    #[arg(long, value_delimiter = ',', default_value = "cubic")]
    congestion: Vec<String>,

    /// Number of fetches at a time; wget has one, whatever this says
    #[arg(long, value_delimiter = ',', default_value = "5,10,50",
        value_parser = clap::value_parser!(u16).range(1..))]
    connections: Vec<u16>,

    /// Number of crawls of each subject
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Number of pages of the site, each of 8 KB
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    pages: u32,
}

/// The figures of one subject.
#[derive(Debug, Serialize)]
struct Figures {
    seconds: Quartiles,
    bound: f64,
    /// The time by the bound.
    ratio: Quartiles,
}

/// A subject: one of the benches, and the program that has it, or a program as it is
/// installed.
#[derive(Clone, Debug)]
enum Runner {
    Subject { name: String, program: PathBuf },
    Program(Program),
}

/// A program that crawls.
#[derive(Clone, Copy, Debug)]
struct Program {
    name: &'static str,
    /// The name of a command, or a path from the root of the workspace.
    path: &'static str,
    /// The words of the command after that: `FETCHES` is the number of fetches at a time,
    /// `FOLDER` an empty folder, `ROOT` the URL of the site, and `PAGES` those of all its
    /// pages, for a program that follows no links.
    arguments: &'static str,
}

const PROGRAMS: [Program; 4] = [
    Program {
        name: "wget",
        path: "wget",
        arguments: "-q -r -l inf -e robots=off --delete-after -P FOLDER ROOT",
    },
    Program {
        name: "wget2",
        path: "wget2",
        arguments: "-q -r -l inf --robots=off --delete-after --max-threads=FETCHES \
                    -P FOLDER ROOT",
    },
    Program {
        name: "aiohttp",
        path: "target/peers/python/bin/python",
        arguments: "benches/peers/crawl.py --max_tasks FETCHES ROOT",
    },
    Program {
        name: "lychee",
        path: "target/peers/python/bin/lychee",
        arguments: "--quiet --no-progress --max-concurrency FETCHES --host-concurrency FETCHES \
                    --host-request-interval 0s PAGES",
    },
];

impl Program {
    /// Lets it crawl a site from one end of a line.
    fn crawl(
        self,
        end: &Namespace,
        server: &mut ServerProcess,
        site: Site,
        connections: u16,
    ) -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut command = match self.path.contains('/') {
            true => end.command(workspace.join(self.path)),
            false => end.command(self.path),
        };
        for word in self.arguments.split_whitespace() {
            match word {
                "FOLDER" => command.arg(folder.path()),
                "ROOT" => command.arg(server.url(0)),
                "PAGES" => command.args((0..site.pages).map(|page| server.url(page))),
                _ => command.arg(word.replace("FETCHES", &connections.to_string())),
            };
        }
        command.current_dir(workspace).stdout(Stdio::null());
        let status = command.status()?;
        let pages = server.requested_pages()?;
        if !status.success() || pages != site.pages {
            let message = format!("{} has found {pages} pages: {status}", self.name);
            return Err(io::Error::other(message));
        }
        Ok(())
    }
}

impl Runner {
    fn named(name: &str) -> io::Result<Self> {
        if let Some(program) = PROGRAMS.into_iter().find(|program| program.name == name) {
            return Ok(Self::Program(program));
        }
        let name = if name == "ours" { "stage3-queue" } else { name };
        let program = SubjectProcess::program(name)?;
        Ok(Self::Subject { name: name.to_owned(), program })
    }

    fn name(&self) -> &str {
        match self {
            Self::Subject { name, .. } => name,
            Self::Program(program) => program.name,
        }
    }

    fn has_one_connection(&self) -> bool {
        matches!(self, Self::Program(program) if !program.arguments.contains("FETCHES"))
    }

    /// Crawls the site once, over a line of its own, and returns the time from the first
    /// packet on: no subject's start counts. Returns also how many crawls have missed pages
    /// before, over the same line: their time is in that one.
    fn run(
        &self,
        options: &LineOptions,
        site: Site,
        connections: u16,
    ) -> io::Result<(Duration, u32)> {
        let line = Line::start(options)?;
        let server = line.server.command(env::current_exe()?);
        let mut server = ServerProcess::start_command(server, line.server_address(), site)?;
        let missed = match self {
            Self::Subject { name, program } => {
                let crawl = Crawl::new(name, &server, connections.into(), false);
                let command = line.client.command(program);
                SubjectProcess::start_program(command, crawl)?.run()?.missed
            }
            Self::Program(program) => {
                program.crawl(&line.client, &mut server, site, connections)?;
                0
            }
        };
        let begun = line.first_packet().ok_or_else(|| io::Error::other("nothing was sent"))?;
        Ok((begun.elapsed(), missed))
    }
}

pub(super) fn main() -> Result<(), Box<dyn Error>> {
    play_role_if_asked(None)?;
    let arguments = Arguments::parse();
    let site = Site { pages: arguments.pages, ..Site::default() };
    let named = arguments.subjects.iter().map(|name| Runner::named(name));
    let runners = named.collect::<io::Result<Vec<_>>>()?;
    let mut kept = BTreeMap::new();
    for options in lines(&arguments) {
        measure(&arguments, &options, site, &runners, &mut kept)?;
    }
    let names = runners
        .iter()
        .map(|runner| runner.name())
        .chain(arguments.congestion.iter().map(String::as_str));
    let name = ["line"].into_iter().chain(names).collect::<Vec<_>>().join("-");
    println!("kept in {}", figures::keep(&name, &kept)?.display());
    Ok(())
}

/// Returns all lines that the arguments ask for.
fn lines(arguments: &Arguments) -> Vec<LineOptions> {
    let mut lines = Vec::new();
    for congestion in &arguments.congestion {
        for loss in &arguments.loss {
            for delay in &arguments.delay {
                for bandwidth in &arguments.bandwidth {
                    lines.push(LineOptions {
                        round_trip: 2 * Duration::from_millis(*delay),
                        bandwidth: bandwidth * 1_000_000,
                        queue: arguments.queue as usize,
                        loss: f64::from(*loss) / 100.0,
                        seed: arguments.seed,
                        congestion: congestion.clone(),
                    });
                }
            }
        }
    }
    lines
}

/// Checks a line of these options, and again after a pause if it is not as it should be:
/// what has disturbed the check would disturb the crawl, too.
fn check_until_quiet(options: &LineOptions) -> io::Result<LineCheck> {
    for _ in 1..MAX_CHECKS {
        match Line::check(options) {
            Ok(check) => return Ok(check),
            Err(error) => eprintln!("{error}; the line is checked again in {CHECK_PAUSE:?}"),
        }
        thread::sleep(CHECK_PAUSE);
    }
    Line::check(options)
}

/// Lets all subjects crawl over one kind of line, in turns.
fn measure(
    arguments: &Arguments,
    options: &LineOptions,
    site: Site,
    runners: &[Runner],
    kept: &mut BTreeMap<String, Figures>,
) -> io::Result<()> {
    let line_name = format!(
        "{}/{}/{:.0}/{}",
        options.round_trip.as_millis(),
        options.bandwidth / 1_000_000,
        options.loss * 100.0,
        options.congestion
    );
    let (single, several): (Vec<Runner>, Vec<Runner>) =
        runners.iter().cloned().partition(|runner| runner.has_one_connection());
    let several = arguments.connections.iter().map(|connections| (*connections, several.clone()));
    for (connections, runners) in several.chain([(1, single)]) {
        let bound = options.bound(site, connections.into()).as_secs_f64();
        let mut seconds = vec![Vec::new(); runners.len()];
        for round in 0..arguments.rounds {
            let seed = options.seed.wrapping_add(round.into());
            let options = LineOptions { seed, ..options.clone() };
            for (runner, seconds) in runners.iter().zip(&mut seconds) {
                let (check, wall) = until_none_is_missed(|| {
                    let check = check_until_quiet(&options)?;
                    let (wall, missed) = runner.run(&options, site, connections)?;
                    Ok(((check, wall), missed))
                })?;
                seconds.push(wall.as_secs_f64());
                eprintln!(
                    "{line_name}/{connections}/{}: {wall:.2?} (ping {:.1?}, bulk {:.3})",
                    runner.name(),
                    check.round_trip,
                    check.rate
                );
            }
        }
        for (runner, seconds) in runners.iter().zip(seconds) {
            let figures = Figures {
                seconds: Quartiles::of(seconds.iter().copied()),
                bound,
                ratio: Quartiles::of(seconds.iter().map(|seconds| seconds / bound)),
            };
            let id = format!("line/{line_name}/{connections}/{}", runner.name());
            let Quartiles { lower, median, upper } = figures.ratio;
            println!(
                "{id:40} {:7.2} s, bound {bound:7.2} s: {median:.2} [{lower:.2} {upper:.2}]",
                figures.seconds.median
            );
            kept.insert(id, figures);
        }
    }
    Ok(())
}
