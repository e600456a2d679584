//! What a crawl costs its server of Redis: processor time and calls per page, memory per
//! URL. Two workers crawl a site on loopback whose pages have ten links each, and Redis
//! is asked for its own figures. Needs redis-server.
//!
//! ```console
//! $ cargo run --release -p fourways-frontier-redis --example costs -- 5000
//! ```
#![allow(clippy::print_stdout)] // A program for people at a terminal.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crawl_core::{CrawlSummary, Options};
use demo_site::scripted;
use frontier_redis::{RedisOptions, Server, work};
use stage2_coroutines::EventLoop;
use stage3_queue::Stopper;

/// The memory of a job beyond its text is measured on so many that wait.
const QUEUED: usize = 20_000;

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
    while ask(&socket, &["PING"]).is_err() {
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
            thread::spawn(move || crawl(&RedisOptions::new(server, "pages"), &root, None))
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
    crawl(&RedisOptions::new(of(&socket), "list"), &list.url("/"), Some(1))?;
    let queue = format!("{{list:0}}:q:{}", list.address());
    let text: usize = (0..QUEUED).map(|n| list.url(&format!("/{n}")).len()).sum();
    let beyond = key(&queue)? - text as f64;
    println!("memory of a queued URL beyond its text: {:.0} B", beyond / QUEUED as f64);
    Ok(())
}

fn of(socket: &Path) -> Server {
    Server::parse(&format!("unix://{}", socket.display())).expect("a path")
}

fn options(root: &str) -> Options {
    let mut options = Options::new(vec![root.parse().expect("a URL")]);
    options.robots = false;
    options
}

fn crawl(redis: &RedisOptions, root: &str, max_pages: Option<u64>) -> io::Result<CrawlSummary> {
    let event_loop = EventLoop::new()?;
    let options = Options { max_pages, ..options(root) };
    let watch = (Duration::from_secs(1), |_: &_| ());
    let working = work(&event_loop, redis.clone(), options, Box::new(drop), Stopper::new(), watch);
    event_loop.run_until_complete(working)?
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
