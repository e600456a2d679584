//! The costs of a crawl for its server of Redis: processor time and calls per page, that of
//! each script, memory per URL. Two workers crawl a site on loopback whose pages have ten
//! links each, and then fifty hosts; and Redis is asked for its own figures. Needs
//! redis-server.
//!
//! ```console
//! $ cargo run --release -p frontier-redis --example costs -- 5000
//! ```
#![allow(clippy::print_stdout)] // A program for people at a terminal.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crawl_core::{CrawlSummary, Options};
use demo_site::scripted;
use frontier_redis::{RedisOptions, Server, work};
use sha1_smol::Sha1;
use stage2_coroutines::system_runtime;
use stage3_queue::ShutdownHandle;

/// The memory of a job beyond its text is measured on so many that wait.
const QUEUED: usize = 20_000;

/// The number of hosts on which scripts are measured.
const HOSTS: u64 = 50;

/// The numbers of seen URLs whose memory is measured: the table of 2^20 is full, and doubled.
const SEEN: [u64; 6] = [10_000, 100_000, 1 << 20, 1_100_000, 3_000_000, 10_000_000];

/// The figures of the book, by their ids.
type Figures = BTreeMap<String, BTreeMap<&'static str, f64>>;

const SCRIPTS: [(&str, &str); 4] = [
    ("claim", include_str!("../src/scripts/claim.lua")),
    ("complete", include_str!("../src/scripts/complete.lua")),
    ("put", include_str!("../src/scripts/put.lua")),
    ("renew", include_str!("../src/scripts/renew.lua")),
];

fn main() -> io::Result<()> {
    let pages = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5_000);
    let folder = std::env::temp_dir().join(format!("costs-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let mut redis = Command::new("redis-server")
        .args(["--port", "0", "--unixsocket", "socket", "--save", "", "--appendonly", "yes"])
        .current_dir(&folder)
        .stdout(Stdio::null())
        .spawn()?;
    let result = measure(&folder, pages);
    // There is no reply.
    let _ = ask(&folder.join("socket"), &["SHUTDOWN", "NOSAVE"]);
    redis.wait()?;
    std::fs::remove_dir_all(&folder)?;
    result
}

fn measure(folder: &Path, pages: u64) -> io::Result<()> {
    let socket = folder.join("socket");
    let deadline = Instant::now() + Duration::from_secs(20);
    while ask(&socket, &["PING"]).is_err() {
        if Instant::now() > deadline {
            return Err(io::Error::other("redis-server does not start"));
        }
        thread::sleep(Duration::from_millis(10));
    }
    let site = scripted::Server::start(move |request, reply| {
        // The next page, and nine that follow from the number of this one.
        let page: u64 = request.path()[1..].parse().unwrap_or(0);
        let link = |n: u64| if n == 0 { page + 1 } else { page * 7_919 + n * n * 104_729 };
        reply.page(
            (0..10).map(|n| format!("<a href=/{}>x</a>", link(n) % pages)).collect::<String>(),
        );
    })?;

    // How much of Redis a page takes.
    let before = used_cpu(&socket)?;
    ask(&socket, &["CONFIG", "RESETSTAT"])?;
    let workers: Vec<_> = (0..2)
        .map(|_| {
            let (server, root) = (of(&socket), site.url("/0"));
            thread::spawn(move || crawl(&RedisOptions::new(server, "pages"), options(&root)))
        })
        .collect();
    for worker in workers {
        worker.join().map_err(|_| io::Error::other("a worker has panicked"))??;
    }
    let used = used_cpu(&socket)? - before;
    let stats = ask(&socket, &["INFO", "commandstats"])?;
    let of_scripts = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:"));
    let field = |name: &str| -> f64 {
        let fields = of_scripts.unwrap_or_default().split(',');
        let field = fields.filter_map(|field| field.split_once('=')).find(|(n, _)| *n == name);
        field.and_then(|(_, value)| value.parse().ok()).unwrap_or_default()
    };
    let per_page = |number: f64| number / pages as f64;
    println!("processor time of Redis for a page: {:.1} us", per_page(used * 1e6));
    println!("in scripts: {:.1} us", per_page(field("usec")));
    println!("scripts called for a page: {:.2}", per_page(field("calls")));
    let mut commands: Vec<_> = stats
        .lines()
        .filter_map(|line| {
            let (name, fields) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((fields.split(',').next()?.parse::<f64>().ok()?, name))
        })
        .filter(|(calls, name)| per_page(*calls) >= 0.05 && *name != "evalsha")
        .collect();
    commands.sort_by(|one, other| other.0.total_cmp(&one.0));
    let all: f64 = commands.iter().map(|(calls, _)| calls).sum();
    println!("commands in them for a page: {:.1}", per_page(all));
    for (calls, name) in commands {
        println!("  {:5.2} {name}", per_page(calls));
    }

    // How much memory.
    let key = |key: &str| -> io::Result<f64> {
        let usage = ask(&socket, &["MEMORY", "USAGE", key, "SAMPLES", "0"])?;
        usage.parse().map_err(io::Error::other)
    };
    println!("memory of a seen URL: {:.0} B", per_page(key("{pages:0}:seen")?));
    let state = folder.join("state");
    stage3_queue::Crawler::builder(options(&site.url("/0"))).journal(&state).run()?;
    let (journal, state) = (key("{pages:0}:journal")?, std::fs::metadata(&state)?.len() as f64);
    println!(
        "memory of a record: {:.0} B, {:.2} of its size in a file of --state",
        per_page(journal),
        journal / state
    );
    let list = scripted::Server::start(|_, reply| {
        reply.page((0..QUEUED).map(|n| format!("<a href=/{n}>x</a>")).collect::<String>());
    })?;
    let first = Options { max_pages: Some(1), ..options(&list.url("/")) };
    crawl(&RedisOptions::new(of(&socket), "list"), first)?;
    let queue = format!("{{list:0}}:q:{}", list.address());
    let text: usize = (0..QUEUED).map(|n| list.url(&format!("/{n}")).len()).sum();
    let beyond = key(&queue)? - text as f64;
    println!("memory of a queued URL beyond its text: {:.0} B", beyond / QUEUED as f64);
    let mut figures = Figures::new();
    figures.insert(
        "scale/redis".into(),
        [
            ("cpu", per_page(used * 1e6)),
            ("scripts", per_page(field("usec"))),
            ("calls", per_page(field("calls"))),
            ("record", per_page(journal)),
        ]
        .into(),
    );
    measure_scripts(&socket, pages, &mut figures)?;
    measure_seen(&socket, &mut figures)?;
    if let Some(folder) = std::env::var_os("FIGURES_HOME") {
        let figures = serde_json::to_vec_pretty(&figures)?;
        std::fs::write(Path::new(&folder).join("scale-costs.json"), figures)?;
    }
    Ok(())
}

/// Measures the processor time of each script, in crawls of fifty hosts with one task and
/// with fifty: the more tasks, the more jobs a claim gets.
fn measure_scripts(socket: &Path, pages: u64, figures: &mut Figures) -> io::Result<()> {
    let pages = pages / HOSTS;
    let roots: Arc<OnceLock<Vec<String>>> = Arc::default();
    let sites = (0..HOSTS).map(|_| {
        let roots = Arc::clone(&roots);
        scripted::Server::start(move |request, reply| {
            let page: u64 = request.path()[1..].parse().unwrap_or(0);
            let own = (0..9).map(|n| page * 9 + n + 1).filter(|page| *page < pages);
            let own: String = own.map(|page| format!("<a href=/{page}>x</a>")).collect();
            let roots = roots.get().map_or(&[][..], Vec::as_slice);
            let other = &roots[(page * 7_919 + request.number) as usize % roots.len()];
            reply.page(format!("{own}<a href={other}{}>x</a>", page * 104_729 % pages));
        })
    });
    let sites = sites.collect::<io::Result<Vec<_>>>()?;
    let _ = roots.set(sites.iter().map(|site| site.url("/")).collect());
    ask(socket, &["CONFIG", "SET", "slowlog-max-len", "1000000"])?;
    // The commands in scripts are faster than that.
    ask(socket, &["CONFIG", "SET", "slowlog-log-slower-than", "5"])?;
    let mut costs = Vec::new();
    for tasks in [1, 50] {
        ask(socket, &["SLOWLOG", "RESET"])?;
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let (server, name) = (of(socket), format!("scripts-{tasks}"));
                let mut options = options(&sites[0].url("/0"));
                options.settings.roots =
                    sites.iter().flat_map(|site| site.url("/0").parse()).collect();
                options.max_tasks = Some(tasks);
                thread::spawn(move || {
                    let mut redis = RedisOptions::new(server, &name);
                    redis.partitions = Some(4);
                    crawl(&redis, options)
                })
            })
            .collect();
        for worker in workers {
            worker.join().map_err(|_| io::Error::other("a worker has panicked"))??;
        }
        costs.push(costs_of_scripts(socket)?);
    }
    let mut row: BTreeMap<_, _> =
        costs[1].iter().map(|(name, (calls, micros))| (*name, micros / calls)).collect();
    let of_claims = |n: usize| costs[n].get("claim").copied().unwrap_or_default();
    let ((more, slow), (few, fast)) = (of_claims(0), of_claims(1));
    let claim = (slow - fast) / (more - few);
    row.insert("claim", claim);
    row.insert("job", (fast - claim * few) / (pages * HOSTS) as f64);
    println!("processor time of scripts, that of a claim without its jobs, in us: {row:.1?}");
    figures.insert("scale/costs".into(), row);
    Ok(())
}

/// Returns the numbers of calls of scripts, and the microseconds that they took together,
/// without those in which another process had the processor.
fn costs_of_scripts(socket: &Path) -> io::Result<BTreeMap<&'static str, (f64, f64)>> {
    const SUM: &str = "local sums = {}
        for _, entry in ipairs(redis.call('SLOWLOG', 'GET', 1000000)) do
          local verb, name = unpack(entry[4])
          if verb:upper() == 'EVALSHA' and entry[3] < 1000 then
            local sum = sums[name] or { 0, 0 }
            sums[name] = { sum[1] + 1, sum[2] + entry[3] }
          end
        end
        local text = ''
        for name, sum in pairs(sums) do
          text = text .. name .. ' ' .. sum[1] .. ' ' .. sum[2] .. ';'
        end
        return text";
    let sums = ask(socket, &["EVAL", SUM, "0"])?;
    let names = SCRIPTS.map(|(name, text)| {
        let text = format!("{}\n{text}", include_str!("../src/scripts/prelude.lua"));
        (Sha1::from(text).digest().to_string(), name)
    });
    let sum = |text: &str| {
        let mut words = text.split(' ');
        let hash = words.next()?;
        let (_, name) = names.iter().find(|(known, _)| known == hash)?;
        Some((*name, (words.next()?.parse().ok()?, words.next()?.parse().ok()?)))
    };
    Ok(sums.split(';').filter_map(sum).collect())
}

/// Measures the memory of the set of seen URLs as it grows. Its table doubles when it is
/// full.
fn measure_seen(socket: &Path, figures: &mut Figures) -> io::Result<()> {
    const ADD: &str = "for n = ARGV[1], ARGV[2] do
          redis.call('SADD', KEYS[1], redis.sha1hex(n):sub(1, 16))
        end
        return 1";
    let mut known = 0;
    for urls in SEEN {
        while known < urls {
            let next = urls.min(known + 50_000);
            ask(socket, &["EVAL", ADD, "1", "seen", &(known + 1).to_string(), &next.to_string()])?;
            known = next;
        }
        let bytes = ask(socket, &["MEMORY", "USAGE", "seen", "SAMPLES", "0"])?;
        let each = bytes.parse::<f64>().map_err(io::Error::other)? / urls as f64;
        println!("memory of {urls} seen URLs: {each:.1} B each");
        figures.insert(format!("scale/seen/{urls}"), [("bytes", each)].into());
    }
    Ok(())
}

fn of(socket: &Path) -> Server {
    Server::parse(&format!("unix://{}", socket.display())).expect("a path")
}

fn options(root: &str) -> Options {
    let mut options = Options::new(vec![root.parse().expect("a URL")]);
    options.settings.robots = false;
    options
}

fn crawl(redis: &RedisOptions, options: Options) -> io::Result<CrawlSummary> {
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop().clone();
    let watch = (Duration::from_secs(1), |_: &_| ());
    let working =
        work(&event_loop, redis.clone(), options, Box::new(drop), ShutdownHandle::new(), watch);
    runtime.run_until_complete(working)?
}

fn used_cpu(socket: &Path) -> io::Result<f64> {
    let info = ask(socket, &["INFO", "cpu"])?;
    let seconds = |name: &str| info.lines().find_map(|line| line.strip_prefix(name));
    let names = ["used_cpu_sys:", "used_cpu_user:"];
    Ok(names.iter().filter_map(|name| seconds(name)?.parse::<f64>().ok()).sum())
}

/// Sends a command, and returns its reply.
fn ask(socket: &Path, words: &[&str]) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    let text: String = words.iter().map(|w| format!("${}\r\n{w}\r\n", w.len())).collect();
    stream.write_all(format!("*{}\r\n{text}", words.len()).as_bytes())?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let Some(length) = line.strip_prefix('$') else {
        return Ok(line.get(1..).unwrap_or_default().trim_end().to_owned());
    };
    let mut text = vec![0; length.trim_end().parse().map_err(io::Error::other)?];
    reader.read_exact(&mut text)?;
    String::from_utf8(text).map_err(io::Error::other)
}
