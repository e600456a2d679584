//! Crawls that are recorded and replayed.
#![cfg(unix)]

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crawl::{Crawler, Options, StopReason};
use demo_site::scripted::Server;
use flate2::read::ZlibDecoder;
use recording::{Header, Player, Record, Recorder};
use rustls::{ServerConnection, StreamOwned};
use selector_core::{Backend, Event as Ready, Key, Notifier, Socket};
use serde_json::Value;
use sim_net::{Fault, Link, Request, Response, SimNet, cut, hang_up, page, redirect, reset};
use stage2_coroutines::{Runtime, runtime_on};
use test_support::authority::Authority;
use trace::{Event, Tracer};

use crate::program::{
    ProgramOutput, Running, Scratch, WATCHDOG, crawl, program, rows, run, wait_until,
};

/// A record, with the rows and the trace of its crawl.
struct Recorded {
    record: Scratch,
    trace: Scratch,
}

impl Recorded {
    fn new() -> Self {
        Self { record: Scratch::new(), trace: Scratch::with_ending(".json") }
    }

    /// Returns the arguments that record.
    fn arguments<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let mut all = vec!["--format", "jsonl", "--record", self.record.as_str()];
        all.extend(["--trace", self.trace.as_str()]);
        all.extend(arguments);
        all
    }

    /// Replays in a process of its own, whose tables have other hash seeds, and expects
    /// the same.
    #[track_caller]
    fn expect_same(&self, recorded: &ProgramOutput) {
        let trace = Scratch::with_ending(".json");
        let arguments = ["--replay", self.record.as_str(), "--trace", trace.as_str()];
        let replayed = Running::start(program(&arguments)).wait();
        // A recording that takes ten seconds, on a busy machine, says how far it is.
        let said = recorded.stderr.lines().filter(|line| !line.starts_with("[progress]"));
        assert!(replayed.stderr.lines().eq(said), "{} {}", replayed.stderr, recorded.stderr);
        assert_eq!(replayed.status.code(), recorded.status.code());
        assert_eq!(replayed.stdout, recorded.stdout);
        assert!(trace.read() == self.trace.read(), "the traces differ");
    }
}

/// A site with something of everything: redirects, errors, a busy page, hang-ups, and
/// pages that are slow.
fn site() -> Server {
    site_with(Duration::from_millis(1500))
}

/// The same site, whose slowest page takes this time.
fn site_with(late: Duration) -> Server {
    Server::start(move |request, reply| match request.path() {
        "/" => {
            let links = (0..30).map(|n| format!("<a href=/{n}>{n}</a>")).collect::<String>();
            reply.page(links + "<a href=/moved>m</a><a href=/none>n</a><a href=/late>l</a>");
        }
        "/moved" => reply.status(302, "Found", &[("Location", "/1")], ""),
        "/none" => reply.status(404, "Not Found", &[], ""),
        "/late" => {
            reply.sleep(late);
            reply.page("<a href=/1>1</a>");
        }
        path => match path[1..].parse::<u32>() {
            Ok(n) if n % 7 == 3 => reply.close(),
            Ok(n) if n % 7 == 5 => reply.reset(),
            Ok(n) => reply.page(format!("<a href=/{}>on</a><a href=/>home</a>", n / 2)),
            Err(_) => reply.status(404, "Not Found", &[], ""),
        },
    })
    .unwrap()
}

#[test]
fn a_replay_has_the_same_rows_and_the_same_trace() {
    const LATE: Duration = Duration::from_secs(3);
    let replay = |flags: &[&str]| {
        let (server, crawl) = (site_with(LATE), Recorded::new());
        let root = server.url("/");
        let arguments = crawl.arguments(&[flags, &[&*root]].concat());
        let recorded = Running::start(program(&arguments)).wait().expect_code(1);
        assert!(rows(&recorded.stdout).len() >= 34, "{}", recorded.stdout);
        drop(server);
        let begun = Instant::now();
        crawl.expect_same(&recorded);
        // Nothing is waited for, not even for the late page and the retries.
        assert!(begun.elapsed() < LATE, "{:?}", begun.elapsed());
        crawl.expect_same(&recorded);
    };
    thread::scope(|scope| {
        for flags in [&["-j", "1"][..], &["-j", "7"], &["-j", "40", "--no-robots"], &["--sitemap"]]
        {
            scope.spawn(move || replay(flags));
        }
    });
}

/// The URLs of a list are in the record, so the list need not be there any more.
#[test]
fn a_crawl_of_a_list_is_replayed_without_the_list() {
    let (server, crawl) = (site(), Recorded::new());
    let list = Scratch::with(format!("{}\n{}\n", server.url("/"), server.url("/3")));
    let arguments = crawl.arguments(&["--input", list.as_str()]);
    let recorded = Running::start(program(&arguments)).wait().expect_code(1);
    assert!(rows(&recorded.stdout).len() >= 34, "{}", recorded.stdout);
    drop((server, list));
    crawl.expect_same(&recorded);
}

/// Starts a site of one page with one link, which is broken.
fn with_a_broken_link() -> Server {
    Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/gone>x</a>"),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap()
}

/// A flag takes the place of those that it contradicts.
#[test]
fn another_report_of_a_recorded_crawl_may_be_asked_for() {
    let server = with_a_broken_link();
    let (record, root) = (Scratch::new(), server.url("/"));
    let arguments = ["--all", "--by-page", "--record", record.as_str(), &root];
    Running::start(program(&arguments)).wait().expect_code(1);
    let arguments = ["--broken-only", "--referrers", "1", "--replay", record.as_str()];
    let report = Running::start(program(&arguments)).wait().expect_code(1).stdout;
    assert!(report.starts_with(&format!("404 Not Found  {root}gone\n    on {root}, ")), "{report}");
}

/// A flag takes the place of the recorded ones of its name.
#[test]
fn a_flag_that_may_be_given_again_takes_the_place_of_recorded_ones() {
    let server = with_a_broken_link();
    let (record, root) = (Scratch::new(), server.url("/"));
    let arguments = ["--accept", "404", "--record", record.as_str(), &root];
    Running::start(program(&arguments)).wait().expect_code(0);
    let arguments = ["--accept", "403", "--replay", record.as_str()];
    Running::start(program(&arguments)).wait().expect_code(1);
}

/// The selections of a record stay, since a replay would depart from it without them.
#[test]
fn a_flag_that_excludes_what_is_recorded_is_refused() {
    let server = with_a_broken_link();
    let (record, root) = (Scratch::new(), server.url("/"));
    let flags = ["--select=t=a", "--format=json", "--broken-only", "--record", record.as_str()];
    Running::start(program(&[&flags[..], &[&root]].concat())).wait().expect_code(1);
    let replayed = |format| {
        let arguments = ["--format", format, "--replay", record.as_str()];
        Running::start(program(&arguments)).wait()
    };
    replayed("text").expect_code(1);
    let stderr = replayed("sitemap").expect_code(2).stderr;
    let origin = format!("(--broken-only is from {})", record.as_str());
    assert!(stderr.contains("--format") && stderr.contains(&origin), "{stderr}");
}

#[test]
fn a_crawl_of_files_is_not_recorded() {
    let (server, crawl) = (site(), Recorded::new());
    let root = server.url("/");
    Running::start(program(&crawl.arguments(&["-q", &root]))).wait().expect_code(1);
    let page = Scratch::with("<a href=none>none</a>");
    let file = Scratch::new();
    for (flag, file, problem) in [
        ("--record", &file, "--record works only for URLs"),
        ("--state", &file, "--state works only for URLs"),
        ("--replay", &crawl.record, "URLs and files cannot be mixed in one run"),
    ] {
        let output = Running::start(program(&[page.as_str(), flag, file.as_str()])).wait();
        let stderr = output.expect_code(2).stderr;
        assert!(stderr.contains(problem), "{stderr}");
    }
    assert!(!file.path().exists());
}

/// A question about the tasks ends no replay. Its answer would be a part of the run, so
/// there is none.
#[test]
fn a_question_ends_no_replay() {
    // More rows than a pipe holds: the replay waits until they are read.
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.page((0..600).map(|n| format!("<a href=/{n}>{n}</a>")).collect::<String>()),
        _ => reply.page(""),
    });
    let (server, crawl) = (server.unwrap(), Recorded::new());
    let root = server.url("/");
    let recorded = Running::start(program(&crawl.arguments(&["-q", &root]))).wait();
    let recorded = recorded.expect_code(0).stdout;

    let mut replay = Running::start_unread(&mut program(&["--replay", crawl.record.as_str()]));
    let mut stdout = replay.unread();
    let mut replayed = vec![0];
    stdout.read_exact(&mut replayed).unwrap();
    replay.signal("-USR1");
    stdout.read_to_end(&mut replayed).unwrap();
    let output = replay.wait().expect_code(0);
    assert_eq!(String::from_utf8(replayed).unwrap(), recorded);
    assert_eq!(output.stderr, "");
}

/// It ends at once, with a report, and does not say that it departs from the record.
#[test]
fn a_replay_that_is_interrupted_writes_its_report() {
    const PAGES: usize = 2_000;
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.page((0..PAGES).map(|n| format!("<a href=/{n}>{n}</a>")).collect::<String>()),
        _ => reply.page(""),
    });
    let (server, crawl) = (server.unwrap(), Recorded::new());
    let root = server.url("/");
    Running::start(program(&crawl.arguments(&["-q", &root]))).wait().expect_code(0);
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let report = Scratch::new();
        let output = format!("json:{}", report.as_str());
        let arguments = ["--replay", crawl.record.as_str(), "--no-progress", "-o", &output];
        let mut replay = Running::start_unread(&mut program(&arguments));
        let (mut stdout, mut replayed) = (replay.unread(), Vec::new());
        // More rows than a pipe holds, read slowly: the signal comes in their midst.
        let (mut piece, mut length) = ([0; 1024], 1);
        while length > 0 {
            length = stdout.read(&mut piece).unwrap();
            if replayed.is_empty() {
                replay.signal(signal);
            }
            replayed.extend_from_slice(&piece[..length]);
            thread::sleep(Duration::from_millis(1));
        }
        let stderr = replay.wait().expect_code(code).stderr;
        let rows = rows(&String::from_utf8(replayed).unwrap());
        let report: Value = serde_json::from_slice(&report.read()).unwrap();
        assert!(rows.len() < PAGES && report["total"] == rows.len(), "{}", report["total"]);
        assert!(stderr.contains(" left to do: the crawl was interrupted"), "{stderr}");
        assert!(!stderr.contains("departs"), "{stderr}");
    }
}

#[test]
fn a_crawl_that_was_interrupted_is_interrupted_again() {
    let interrupt = |after| {
        let (server, crawl) = (site(), Recorded::new());
        let root = server.url("/");
        let running = Running::start(program(&crawl.arguments(&["-j", "2", "-q", &root])));
        wait_until(|| server.requests() >= after);
        running.signal("-INT");
        let recorded = running.wait();
        crawl.expect_same(&ProgramOutput { stderr: crawl.warning(), ..recorded });
    };
    thread::scope(|scope| {
        for after in [1, 2, 3, 5, 8, 11, 15, 19, 23, 27] {
            scope.spawn(move || interrupt(after));
        }
    });
}

impl Recorded {
    /// Returns what the replay says that was said with `-q` while it was recorded: the
    /// warning that something is left to do.
    fn warning(&self) -> String {
        Running::start(program(&["--replay", self.record.as_str()])).wait().stderr
    }
}

/// An https site whose connections are kept.
fn secure_site() -> Server {
    let config = Arc::new(Authority::new("Root").issue(&["127.0.0.1"]).server());
    Server::start_raw(move |stream, _| {
        let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = StreamOwned::new(tls, stream);
        let mut request = [0; 4096];
        // A client that does not trust the certificate closes the connection.
        while let Ok(1..) = stream.read(&mut request) {
            let path = String::from_utf8_lossy(&request).split(' ').nth(1).unwrap().to_owned();
            let links: String = (0..20).map(|n| format!("<a href=/{n}>{n}</a>")).collect();
            let (status, body) = match path.as_str() {
                "/robots.txt" | "/13" => ("404 Not Found", String::new()),
                // Larger than a record of TLS.
                "/7" => ("200 OK", links + &"<p>much text</p>".repeat(5000)),
                _ => ("200 OK", links),
            };
            let fields = "Content-Type: text/html\r\nSet-Cookie: id=c00kie\r\n";
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {length}\r\n\r\n");
            if stream.write_all((head + &body).as_bytes()).is_err() {
                return;
            }
        }
    })
    .unwrap()
}

/// TLS is random, so it is not there in a replay; all else is, and no secret.
#[test]
fn a_secure_crawl_is_replayed_without_tls() {
    for (flags, code) in [(&["-k", "-j", "3"][..], 1), (&["-k", "-j", "1"], 1), (&["-j", "2"], 3)] {
        let (server, crawl) = (secure_site(), Recorded::new());
        let root = format!("https://{}/", server.address());
        let arguments = crawl.arguments(&[flags, &[&*root]].concat());
        let recorded = Running::start(program(&arguments)).wait().expect_code(code);
        assert_eq!(rows(&recorded.stdout).len(), if code == 1 { 21 } else { 1 });
        assert_eq!(recorded.stdout.contains(r#""class":"tls""#), code == 3, "{}", recorded.stdout);
        drop(server);
        crawl.expect_same(&recorded);
        let text = contents(&crawl.record.read());
        assert!(!text.contains("c00kie"), "{text}");
        assert_eq!(text.contains("Set-Cookie: id=******"), code == 1, "{text}");
    }
}

/// Returns the text of a record.
fn contents(file: &[u8]) -> String {
    let header = file.split(|byte| *byte == b'\n').take(2);
    let header_end = header.map(|line| line.len() + 1).sum();
    let mut text = file[..header_end].to_vec();
    ZlibDecoder::new(&file[header_end..]).read_to_end(&mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

/// A network of a few hosts, with faults that follow from the seed.
fn network(seed: u64) -> SimNet {
    let net = SimNet::new(move |request: &Request| answer(seed, request));
    net.seed(seed);
    for (number, name) in ["a.test", "b.test", "c.test"].into_iter().enumerate() {
        let host = IpAddr::from([10, 0, 0, number as u8 + 1]);
        net.name(name, host);
        let link = Link {
            latency: Duration::from_millis(seed * 7 % 50),
            jitter: Duration::from_millis(seed % 20),
            bandwidth: seed.is_multiple_of(2).then_some(20_000),
            packet: seed.is_multiple_of(3).then_some(100),
            fault: match (number, seed % 5) {
                (2, 0) => Some(Fault::Refuse),
                (2, 1) => Some(Fault::Swallow),
                _ => None,
            },
        };
        net.link(host, link);
    }
    net
}

fn answer(seed: u64, request: &Request) -> Response {
    let number: u64 = request.path.trim_start_matches('/').parse().unwrap_or(0);
    if request.path == "/robots.txt" {
        return sim_net::not_found();
    }
    let others = ["http://a.test/5", "http://b.test/6", "http://c.test/7"].map(str::to_owned);
    let next = (1..4).map(|n| format!("/{}", (number * 3 + n) % 40));
    let whole = page(next.chain(others));
    if request.path == "/" {
        return whole;
    }
    match (number * 31 + seed) % 17 {
        3 => cut(whole, 60),
        5 => reset(whole, 80),
        7 => hang_up(),
        9 => redirect("/11"),
        11 => sim_net::response("503 Busy", "Retry-After: 2\r\n", ""),
        13 => whole.after(Duration::from_secs(4)),
        _ => whole,
    }
}

/// Crawls on this loop as the program does. Returns the rows and the trace.
fn crawl_traced(runtime: impl FnOnce() -> Runtime, seed: u64) -> (String, String) {
    let tracer = Tracer::new(Tracer::LIMIT);
    let guard = tracer.enter();
    let mut options = Options::new(vec!["http://a.test/".parse().unwrap()]);
    options.seed = seed;
    let rows = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&rows);
    let runtime = runtime();
    Crawler::builder(options)
        .on_row(move |row| *sink.lock().unwrap() += &(serde_json::to_string(&row).unwrap() + "\n"))
        .watch(cli::Progress::INTERVAL, |_| ())
        .run_on(runtime)
        .unwrap();
    drop(guard);
    let trace = tracer.take();
    let events = trace.records.iter().map(|record| {
        let event = match record.event {
            // A moment of one process means nothing in another.
            Event::TimerSet { timer, at } => format!("{timer} at {:?}", at - trace.started),
            Event::TimerMoved { timer, at, .. } => format!("{timer} to {:?}", at - trace.started),
            // And so does the address of a queue.
            Event::Queue { operation, unfinished, .. } => format!("{operation} {unfinished}"),
            ref event => format!("{event:?}"),
        };
        format!("{:?} {} {} {event}\n", record.time, record.lane, record.task)
    });
    let rows = rows.lock().unwrap().clone();
    (rows, events.collect())
}

fn record_simulated(seed: u64, path: &Path) -> (String, String) {
    let arguments = vec!["http://a.test/".into(), "--format=jsonl".into()];
    let header = Header { arguments, seed, ..Header::default() };
    let recorder = Recorder::create(path, &header).unwrap();
    let crawled = crawl_traced(
        || {
            let net = network(seed);
            let lookup = recorder.lookup(net.lookup());
            runtime_on(recorder.backend(net, Box::new(|_| ())), lookup)
        },
        seed,
    );
    recorder.finish().unwrap();
    crawled
}

/// Simulated crawls with faults, each replayed here, and by the program.
#[test]
fn a_simulated_crawl_is_replayed_to_the_last_event() {
    let mut differs = HashSet::new();
    for seed in 1..=24 {
        let record = Scratch::new();
        let recorded = record_simulated(seed, record.path());
        assert!(recorded.0.lines().count() > 3, "seed {seed}: {}", recorded.0);
        let player = Player::new(Record::open(record.path()).unwrap());
        let on_player = || runtime_on(player.backend(Box::new(|_| ())), player.lookup());
        let replayed = crawl_traced(on_player, seed);
        assert_eq!(player.departure(), None, "seed {seed}");
        assert_eq!(replayed.0, recorded.0, "seed {seed}");
        assert!(replayed.1 == recorded.1, "seed {seed}: the traces differ");
        let output = Running::start(program(&["--replay", record.as_str()])).wait();
        assert_eq!(output.stdout, recorded.0, "seed {seed}: {}", output.stderr);
        differs.insert(recorded.1);
    }
    assert_eq!(differs.len(), 24, "the seeds make different crawls");
}

/// A backend that interrupts the replay before a wait, counting down to it.
struct Interrupting<B> {
    backend: B,
    player: Player,
    num_waits: usize,
}

impl<B: Backend> Backend for Interrupting<B> {
    fn now(&self) -> Instant {
        self.backend.now()
    }

    fn connect(&mut self, address: SocketAddr, key: Key) -> io::Result<Socket> {
        self.backend.connect(address, key)
    }

    fn wait(&mut self, timeout: Option<Duration>, events: &mut Vec<Ready>) -> io::Result<()> {
        match self.num_waits.checked_sub(1) {
            Some(left) => self.num_waits = left,
            None => self.player.interrupt(2),
        }
        self.backend.wait(timeout, events)
    }

    fn notifier(&self) -> Notifier {
        self.backend.notifier()
    }
}

/// Fetches that are under way end without a row, or as they were recorded. None is tried again,
/// so an error would be a row at once.
#[test]
fn an_interrupted_replay_has_no_row_that_the_recorded_run_has_not() {
    for seed in 1..=4 {
        let mut options = Options::new(vec!["http://a.test/".parse().unwrap()]);
        (options.seed, options.settings.max_tries) = (seed, 1);
        let record = Scratch::new();
        let recorder = Recorder::create(record.path(), &Header::default()).unwrap();
        let net = network(seed);
        let lookup = recorder.lookup(net.lookup());
        let backend = recorder.backend(net, Box::new(|_| ()));
        let mut recorded = HashSet::new();
        Crawler::builder(options.clone())
            .on_row(|row| _ = recorded.insert(serde_json::to_string(&row).unwrap()))
            .run_on(runtime_on(backend, lookup))
            .unwrap();
        recorder.finish().unwrap();
        for num_waits in 0.. {
            let player = Player::new(Record::open(record.path()).unwrap());
            let crawler = Crawler::builder(options.clone());
            let shutdown = crawler.shutdown_handle();
            let stop = move |number| shutdown.stop(StopReason::Signal(number));
            let backend = player.backend(Box::new(stop));
            let lookup = player.lookup();
            let backend = Interrupting { backend, player, num_waits };
            let mut num_rows = 0;
            let sink = |row| {
                let row = serde_json::to_string(&row).unwrap();
                assert!(recorded.contains(&row), "seed {seed}, after {num_waits} waits: {row}");
                num_rows += 1;
            };
            let runtime = runtime_on(backend, lookup);
            let _event_loop = runtime.event_loop().clone();
            let summary = crawler.on_row(sink).run_on(runtime).unwrap();
            if summary.stopped.is_none() {
                assert_eq!(num_rows, recorded.len(), "seed {seed}");
                break;
            }
        }
    }
}

#[test]
fn with_other_flags_a_replay_says_where_it_departs() {
    let (server, crawl) = (site(), Recorded::new());
    let root = server.url("/");
    Running::start(program(&crawl.arguments(&["-q", &root]))).wait().expect_code(1);
    let replay = ["--replay", crawl.record.as_str(), "-o", "/dev/null"];
    let with = |flags: &[&str]| Running::start(program(&[&replay, flags].concat())).wait();
    with(&["--format", "csv"]).expect_code(1);
    for flags in [&["-A", "another"][..], &["-j", "1"], &["--max-pages", "3"]] {
        let stderr = with(flags).expect_code(3).stderr;
        let expected = "[error] the run differs from the record at event ";
        assert!(stderr.starts_with(expected), "{flags:?}: {stderr}");
    }
    let stderr = with(&["-A", "another"]).stderr;
    assert!(stderr.contains("which begin with \"GET /robots.txt HTTP/1.1\", where"), "{stderr}");
}

#[test]
fn a_file_that_cannot_be_replayed_is_wrong_usage() {
    let (server, crawl) = (site(), Recorded::new());
    let root = server.url("/");
    Running::start(program(&crawl.arguments(&["-q", &root]))).wait().expect_code(1);
    let whole = crawl.record.read();
    let later = [b"fourways-record 2\n", whole.split_once_line()].concat();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    for (contents, problem) in [
        (b"*** Report ***\n".to_vec(), "it is not a record of a crawl"),
        (vec![0xff; 100], "it is not a record of a crawl"),
        (later, "it has version 2, and this program reads only version 1"),
        (whole[..whole.len() - 1].to_vec(), "it is cut off or damaged"),
        (whole[..whole.len() / 2].to_vec(), "it is cut off or damaged"),
        (whole[..30].to_vec(), "it is cut off or damaged"),
        (damaged, "it is cut off or damaged"),
    ] {
        let file = Scratch::with(contents);
        let output = Running::start(program(&["--replay", file.as_str()])).wait().expect_code(2);
        let expected = format!("error: --replay {}: {problem}\n", file.as_str());
        assert!(output.stderr.starts_with(&expected), "{}", output.stderr);
    }
    let output = Running::start(program(&["--replay", "/no/such/file"])).wait().expect_code(2);
    assert!(output.stderr.contains("--replay /no/such/file: it cannot be read: "));
}

/// A record may come from anyone. It decides what is replayed, and nothing else.
#[test]
fn a_record_names_no_file_to_be_written() {
    let (file, record) = (Scratch::with("mine"), Scratch::new());
    let name = file.as_str();
    for words in [
        &[format!("--output=html:{name}")][..],
        &["--output".into(), name.into()],
        &["-o".into(), name.into()],
        &[format!("-o{name}")],
        &[format!("--trace={name}")],
        &[format!("--baseline={name}"), "--update-baseline".into()],
        &[format!("--cookie-jar={name}")],
        &[format!("--state={name}"), "--fresh".into()],
        &[format!("--record={name}")],
        &[format!("--cache={name}")],
        &[format!("--input={name}")],
        &[name.into()],
        &["-".into()],
        &["--".into(), name.into()],
    ] {
        let arguments = [&["http://a.test/".to_owned()][..], words].concat();
        let header = Header { arguments, ..Header::default() };
        Recorder::create(record.path(), &header).unwrap().finish().unwrap();
        let output = Running::start(program(&["--replay", record.as_str()])).wait().expect_code(2);
        let problem = format!("it is not a record of a crawl: no record has '{}'", words[0]);
        assert!(output.stderr.contains(&problem), "{words:?}: {}", output.stderr);
        assert_eq!(file.read(), b"mine", "{words:?}");
    }
}

/// A value with a tab or a line end is one that a flag can have: a pattern over several
/// lines, for example. But no terminal obeys a record.
#[test]
fn what_a_record_says_is_escaped_on_the_terminal() {
    let record = Scratch::new();
    for word in [
        "--max-depth=\u{1b}[2J\n::error::x\u{7}",
        "--max-depth=##[error]x",
        "--header=\u{9b}2J: x",
        "--all=\u{1b}[2J",
        "--no-such\u{1b}[2J",
        "http://a.test:\u{1b}[2J/",
    ] {
        let header = Header { arguments: vec![word.into()], ..Header::default() };
        Recorder::create(record.path(), &header).unwrap().finish().unwrap();
        let mut command = program(&["--replay", record.as_str()]);
        // As on a terminal: what is no color is not taken out.
        command.env("CLICOLOR_FORCE", "1").env("GITHUB_ACTIONS", "true");
        let stderr = Running::start(command).wait().expect_code(2).stderr;
        for raw in ["\u{1b}[2J", "\u{7}", "\u{9b}", "\n::", "##["] {
            assert!(!stderr.contains(raw), "{word:?}: {stderr:?}");
        }
        assert!(stderr.contains(record.as_str()), "{word:?}: {stderr}");
    }
    let (site, crawl) = (with_a_broken_link(), Recorded::new());
    let root = site.url("/");
    let arguments = crawl.arguments(&["--exclude", "(?x)\n\t/gone # a comment\n", &root]);
    let recorded = Running::start(program(&arguments)).wait().expect_code(0);
    crawl.expect_same(&recorded);
}

trait AfterLine {
    /// Returns what follows the first line.
    fn split_once_line(&self) -> &[u8];
}

impl AfterLine for Vec<u8> {
    fn split_once_line(&self) -> &[u8] {
        let end = self.iter().position(|byte| *byte == b'\n').unwrap();
        &self[end + 1..]
    }
}

#[test]
fn secrets_are_recorded_only_if_asked() {
    let server = Server::start(|_, reply| {
        let headers = [("Set-Cookie", "id=c00kie; Path=/"), ("Content-Type", "text/html")];
        reply.status(200, "OK", &headers, "a body");
    })
    .unwrap();
    let root = server.url("/");
    for keeps in [false, true] {
        let record = Scratch::new();
        let mut arguments = vec!["--record", record.as_str(), "-u", "me:passw0rd", &root];
        arguments.extend(["-H", "Cookie: id=s3cret"]);
        arguments.extend(keeps.then_some("--record-secrets"));
        let recorded = run(&arguments).expect_code(0);
        let text = contents(&record.read());
        assert!(text.contains("a body") && text.contains("Set-Cookie: id="), "{text}");
        for secret in ["passw0rd", "s3cret", "c00kie"] {
            assert_eq!(text.contains(secret), keeps, "{secret}: {text}");
        }
        let replayed = Running::start(program(&["--replay", record.as_str()])).wait();
        assert_eq!(replayed.status.code(), recorded.status.code(), "{}", replayed.stderr);
        assert!(replayed.stdout.starts_with("Checked "), "{}", replayed.stdout);
        assert_eq!(replayed.stdout, recorded.stdout);
    }
}

/// The bytes of a cookie decide if it is kept and sent, so they are in the record.
#[test]
fn a_crawl_with_any_cookie_is_replayed() {
    for cookie in [
        "city=Z\u{fc}rich".as_bytes(),
        b"city=Z\xfcrich",
        b"id=\tabc",
        b"id=a\tb",
        b"id=a\r\n\tb",
        b"id=\"a b\"",
        b"id=",
    ] {
        let server = Server::start_raw(move |stream, _| {
            let _ = stream.read(&mut [0; 4096]);
            let links = "<a href=/a>a</a><a href=/b>b</a>";
            let fields = format!("Content-Type: text/html\r\nContent-Length: {}", links.len());
            let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{fields}\r\nSet-Cookie: ");
            let response = [head.as_bytes(), cookie, b"\r\n\r\n", links.as_bytes()].concat();
            let _ = stream.write_all(&response);
        })
        .unwrap();
        let (crawl, root) = (Recorded::new(), format!("http://{}/", server.address()));
        let recorded = Running::start(program(&crawl.arguments(&["-j1", &root]))).wait();
        let recorded = recorded.expect_code(0);
        assert_eq!(rows(&recorded.stdout).len(), 3, "{}", recorded.stdout);
        drop(server);
        crawl.expect_same(&recorded);
    }
}

#[test]
fn a_record_that_cannot_be_written_is_told() {
    let server = site();
    let output = run(&["--record", "/no/such/folder/file", &server.url("/")]).expect_code(3);
    let message = "the record /no/such/folder/file: No such file or directory";
    assert!(output.stderr.contains(message), "{}", output.stderr);
    // So many URLs would be a record that cannot be read.
    let list: String = (0..20_000).map(|n| server.url(&format!("/{n:0>50}\n"))).collect();
    let (list, record) = (Scratch::with(list), Scratch::new());
    let output = run(&["--input", list.as_str(), "--record", record.as_str()]).expect_code(3);
    assert!(output.stderr.contains("too long for a record"), "{}", output.stderr);
    assert_eq!(server.requests(), 0);
    // The crawl is done, and so its report is there.
    let output = run(&["--record", "/dev/full", &server.url("/")]).expect_code(3);
    assert!(output.stdout.contains("404 Not Found"), "{}", output.stdout);
    assert!(output.stderr.contains("[error] the record cannot be written: "), "{}", output.stderr);
    // What is told beside it is no reason to hide it.
    let unreachable = ["--record", "/dev/full", "--max-tries", "1", "http://127.0.0.1:1/"];
    let stderr = run(&unreachable).expect_code(3).stderr;
    assert!(stderr.contains("[error] no start URL could be crawled: "), "{stderr}");
    assert!(stderr.contains("[error] the record cannot be written: "), "{stderr}");
    let away = Server::start(|request, reply| match request.path() {
        "/" => reply.status(302, "Found", &[("Location", "http://localhost:1/")], ""),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let stderr = run(&["--record", "/dev/full", &away.url("/")]).expect_code(3).stderr;
    assert!(stderr.contains("[error] ") && stderr.contains("--follow-root"), "{stderr}");
    assert!(stderr.contains("[warning] the record cannot be written: "), "{stderr}");
}

#[test]
fn a_record_that_cannot_be_written_is_told_after_a_signal() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/never>x</a>"),
        _ => reply.sleep(WATCHDOG),
    })
    .unwrap();
    let running = Running::start(crawl(&["--record", "/dev/full", &server.url("/")]));
    wait_until(|| server.hits("/never") > 0);
    running.signal("-INT");
    let stderr = running.wait().expect_code(130).stderr;
    let sentence = "[error] the record cannot be written: ";
    assert_eq!(stderr.matches(sentence).count(), 1, "{stderr}");
}
