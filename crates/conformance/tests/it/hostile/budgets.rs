//! Pages and sites that multiply: little traffic that would take gigabytes or hours. The
//! programs of the stages are watched from outside, with their peak memory and their
//! duration.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use demo_site::scripted::{Reply, Request};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use test_support::programs::{program, programs};

use super::behaviour::{Script, html, ok};
use super::processes::{PROGRAMS, TempDir, run_with_peak_memory};
use crate::common::{WATCHDOG, links, serve};

/// The most memory that a program may use for one page, in KiB: 150 MB.
const MAX_KIB_OF_PAGE: u64 = 150_000_000 / 1024;

/// The most memory that a program may use for any site, in KiB: 300 MB.
const MAX_KIB_OF_SITE: u64 = 300_000_000 / 1024;

/// The longest time that a program may take, even in a slow build on a busy machine.
const MAX_TIME: Duration = Duration::from_secs(90);

/// The programs that a case is for.
#[derive(Clone, Copy, PartialEq)]
enum For {
    All,
    /// The others lack the option, or the manners.
    Crawl,
}

/// A site, and what a program reports of it.
struct Case {
    name: &'static str,
    programs: For,
    arguments: &'static [&'static str],
    /// The path of the root.
    root: String,
    script: Script,
    max_kib: u64,
    /// Returns true if these are the rows, by path, and the messages on stderr.
    expects: fn(&BTreeMap<String, Value>, &str) -> bool,
}

/// Returns a case of one page, at all paths that begin with `root`. Nothing else exists.
fn page(
    name: &'static str,
    programs: For,
    arguments: &'static [&'static str],
    root: String,
    html: String,
    expects: fn(&BTreeMap<String, Value>, &str) -> bool,
) -> Case {
    let path = root.clone();
    let script = move |request: &Request, reply: &mut Reply<'_>| {
        if request.target == path {
            reply.page(&html);
        } else {
            reply.status(404, "Not Found", &[], "");
        }
    };
    let (script, max_kib) = (Arc::new(script), MAX_KIB_OF_PAGE);
    Case { name, programs, arguments, root, script, max_kib, expects }
}

fn numbered(count: usize, element: impl Fn(usize) -> String) -> String {
    (0..count).map(element).collect()
}

/// Returns pages whose links and fragments are long or many.
fn amplified() -> Vec<Case> {
    const FEW: &[&str] = &["--max-pages", "5"];
    const FRAGMENTS: &[&str] = &["--max-pages", "5", "--check", "fragments"];
    const STATE: &[&str] = &["--max-pages", "5", "--state"];
    let base = format!("<base href='/{}/'>", "b".repeat(2_000));
    let long_base = base.clone() + &numbered(60_000, |n| format!("<a href={n}>"));
    let images = base + &numbered(60_000, |n| format!("<img src={n}>"));
    let is_cut: fn(&BTreeMap<_, _>, &str) -> bool = |_, log| log.contains("were skipped");
    let long_root = || format!("/{}", "r".repeat(1_990));
    vec![
        page("a long base", For::All, FEW, "/".into(), long_base.clone(), is_cut),
        page("a long base, with a journal", For::Crawl, STATE, "/".into(), long_base, is_cut),
        page(
            "a long base of images",
            For::All,
            &["--max-pages", "5", "--check", "images"],
            "/".into(),
            images,
            is_cut,
        ),
        page(
            "fragments of a long URL",
            For::All,
            FRAGMENTS,
            long_root(),
            numbered(60_000, |n| format!("<a href=#{n}>")),
            is_cut,
        ),
        page(
            "links to nothing new",
            For::Crawl,
            &["--max-pages", "5", "--check", "fragments,images", "--state"],
            "/".into(),
            numbered(300_000, |n| format!("<a href=/#{n} id=x{n}>")),
            is_cut,
        ),
    ]
}

/// Returns pages of which a tree or a selection takes long.
fn costly_trees() -> Vec<Case> {
    let is_ended: fn(&BTreeMap<_, _>, &str) -> bool = |rows, _| {
        let row: &Value = &rows["/"];
        row["outcome"] == "page" && row["select_error"]["class"] == "too_complex"
    };
    let case =
        |name, arguments, html| page(name, For::Crawl, arguments, "/".into(), html, is_ended);
    const ANY: &[&str] = &["--select", "found=b"];
    vec![
        case("b in p", ANY, numbered(5_000, |n| format!("<p><b id={n}></p>"))),
        case("font in div", ANY, numbered(5_000, |n| format!("<div><font color={n}></div>"))),
        case("many elements", ANY, "<p>".repeat(1_000_000)),
        case("many siblings", &["--select", "found=h1 ~ p"], "<p>".repeat(20_000)),
        case("searched for each element", &["--select", "found=p:has(~ h1)"], "<p>".repeat(20_000)),
    ]
}

/// Returns a few kilobytes in gzip: documents in frames, each with a long base that counts for
/// all links in it.
fn packed_bases() -> Vec<u8> {
    let links = numbered(2_200, |n| format!("<a href={n}>"));
    let base = format!("<base href={}/ >", "x".repeat(1_000));
    let inner = format!("<iframe srcdoc=\"{base}{links}\"></iframe>");
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let block = inner.into_bytes();
    for _ in 0..(7 << 20) / block.len() {
        packed.write_all(&block).unwrap();
    }
    packed.finish().unwrap()
}

/// Returns responses that hold much memory for little traffic, or never end.
fn held_back() -> Vec<Case> {
    let packed = packed_bases();
    assert!(packed.len() < 200_000, "{}", packed.len());
    let bases = move |request: &Request, reply: &mut Reply<'_>| match request.path() {
        "/" => {
            let headers = [("Content-Type", "text/html"), ("Content-Encoding", "gzip")];
            reply.status(200, "OK", &headers, &packed);
        }
        _ => reply.status(404, "No", &[], ""),
    };
    // A frame with a window of 8 MiB, of RLE blocks (RFC 8878, section 3.1.1.2), that
    // does not end.
    const WINDOW_OF_8_MIB: u8 = 13 << 3;
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, WINDOW_OF_8_MIB];
    for _ in 0..64 {
        let header: u32 = 1 << 1 | (128 << 10) << 3;
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(b' ');
    }
    let windows = move |request: &Request, reply: &mut Reply<'_>| match request.path() {
        "/" => reply.page(links((0..150).map(|n| format!("/{n}")).chain(["/beside".into()]))),
        "/beside" => reply.page("<p>well</p>"),
        "/robots.txt" => reply.status(404, "No", &[], ""),
        _ => {
            reply.send(html("Content-Encoding: zstd\r\nContent-Length: 9999\r\n\r\n"));
            reply.send(&frame);
            reply.sleep(Duration::from_secs(2));
            reply.close();
        }
    };
    let images = |request: &Request, reply: &mut Reply<'_>| match request.path() {
        "/" => reply.page(numbered(10, |n| format!("<img src=/{n}>"))),
        _ => {
            reply.send(html("\r\n"));
            let begun = Instant::now();
            let mut n = 0;
            while !reply.is_over() && begun.elapsed() < WATCHDOG {
                n += 1;
                reply.send(links((0..9_999).map(|m| format!("/{n}/{m}"))));
            }
        }
    };
    vec![
        Case {
            name: "long bases in few bytes",
            programs: For::Crawl,
            arguments: &["--max-pages", "5"],
            root: "/".into(),
            script: Arc::new(bases),
            max_kib: MAX_KIB_OF_SITE,
            expects: |rows, log| {
                rows["/"]["outcome"] == "page" && log.contains("only the first 10 MB were read")
            },
        },
        Case {
            name: "windows of decoders",
            programs: For::All,
            // Stages 1 and 2 ask for all at once.
            arguments: &["--max-tries", "2"],
            root: "/".into(),
            script: Arc::new(windows),
            max_kib: MAX_KIB_OF_SITE,
            expects: |rows, _| rows.len() == 152 && rows["/beside"]["outcome"] == "page",
        },
        Case {
            name: "images that are endless pages",
            programs: For::All,
            arguments: &[
                "--check",
                "images",
                "--max-tries",
                "2",
                "--max-body-size",
                "4M",
                "--max-pages",
                "20",
            ],
            root: "/".into(),
            script: Arc::new(images),
            max_kib: MAX_KIB_OF_SITE,
            expects: |rows, log| {
                (0..10).all(|n| rows[&format!("/{n}")]["outcome"] == "page")
                    && log.contains("only the first 4 MB were read")
            },
        },
    ]
}

/// Returns robots.txt files that do not end, or end with nothing.
fn robots() -> Vec<Case> {
    let case = |name, head: String, first: Vec<u8>, piece: Vec<u8>, is_allowed: bool| {
        let script = move |request: &Request, reply: &mut Reply<'_>| {
            if request.target != "/robots.txt" {
                return reply.page("");
            }
            reply.send(&head);
            reply.send(&first);
            if piece.is_empty() {
                return reply.sleep(WATCHDOG);
            }
            let begun = Instant::now();
            while !reply.is_over() && begun.elapsed() < WATCHDOG {
                reply.send(&piece);
            }
        };
        let allowed: fn(&BTreeMap<String, Value>, &str) -> bool =
            |rows, _| rows["/"]["outcome"] == "page";
        let refused: fn(&BTreeMap<String, Value>, &str) -> bool =
            |rows, _| rows["/"]["error"]["class"] == "robots";
        Case {
            name,
            programs: For::Crawl,
            arguments: &[],
            root: "/".into(),
            script: Arc::new(script),
            max_kib: MAX_KIB_OF_PAGE,
            expects: if is_allowed { allowed } else { refused },
        }
    };
    let status = |line: &str| format!("HTTP/1.1 {line}\r\n\r\n");
    let gzip = ok("Content-Encoding: gzip\r\n\r\n");
    let header = b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec();
    let empty_blocks = b"\0\0\0\xff\xff".repeat(10_000);
    let disallow = b"User-agent: *\nDisallow: /\n".to_vec();
    let text = || vec![b'#'; 50_000];
    vec![
        case("an endless 404", status("404 No"), Vec::new(), text(), true),
        case("an endless 404 with rules", status("404 No"), disallow.clone(), text(), true),
        case("a silent 404", status("404 No\r\nContent-Length: 9"), Vec::new(), Vec::new(), true),
        case(
            "a silent 410 in chunks",
            status("410 Gone\r\nTransfer-Encoding: chunked"),
            b"4\r\nab".to_vec(),
            Vec::new(),
            true,
        ),
        case("an endless 500", status("500 No"), Vec::new(), text(), false),
        case("an endless 200", status("200 OK"), Vec::new(), text(), true),
        case("an endless 200 with rules", status("200 OK"), disallow, text(), false),
        case("empty blocks", gzip, header, empty_blocks, true),
    ]
}

/// Returns a site whose sitemap is an index of 50,000 sitemaps, each of which is another
/// one.
fn indices_of_indices() -> Vec<Case> {
    let script = |request: &Request, reply: &mut Reply<'_>| match request.path() {
        "/" => reply.page(""),
        "/robots.txt" => reply.status(404, "No", &[], ""),
        path => {
            let (name, host) = (path.trim_end_matches(".xml"), request.header("Host").unwrap());
            let entries = numbered(50_000, |n| {
                format!("<sitemap><loc>http://{host}{name}-{n}.xml</loc></sitemap>")
            });
            reply.page(format!("<sitemapindex>{entries}</sitemapindex>"));
        }
    };
    vec![Case {
        name: "indices of indices",
        programs: For::Crawl,
        arguments: &["--sitemap"],
        root: "/".into(),
        script: Arc::new(script),
        max_kib: MAX_KIB_OF_SITE,
        expects: |rows, log| rows.len() == 1 && log.contains("1000000 entries were read"),
    }]
}

#[test]
#[ignore = "takes a minute: a part of .ci/run"]
fn sitemaps_do_not_multiply() {
    check(indices_of_indices());
}

#[test]
#[ignore = "takes a minute: a part of .ci/run"]
fn links_and_fragments_do_not_multiply() {
    check(amplified());
}

#[test]
#[ignore = "takes a minute: a part of .ci/run"]
fn trees_and_selections_have_limits() {
    check(costly_trees());
}

#[test]
#[ignore = "takes a minute: a part of .ci/run"]
fn responses_in_flight_have_one_budget() {
    check(held_back());
}

#[test]
#[ignore = "takes a minute: a part of .ci/run"]
fn robots_txt_has_an_end() {
    check(robots());
}

/// Each of them is an object in the report, which takes some kilobytes while it is made.
#[test]
#[ignore = "takes a minute: a part of .ci/run"]
fn a_report_of_many_broken_links_takes_no_memory() {
    const LINKS: usize = 100_000;
    let html = numbered(LINKS, |n| format!("<a href=//[{n}>"));
    let site = serve(move |request, reply| match request.path() {
        "/" => reply.page(&html),
        _ => reply.status(404, "Not Found", &[], ""),
    });
    let dir = TempDir::new("many-broken-links");
    let (report, log) = (dir.file("report"), dir.file("log"));
    let mut command = Command::new(program("crawl"));
    command.args(["--format", "json", &site.url("/")]);
    let (status, peak) = run_with_peak_memory(&mut command, &report, &log);
    assert_eq!(status.code(), Some(1), "{status}");
    assert!(peak.is_some_and(|peak| peak < MAX_KIB_OF_PAGE), "{peak:?} KiB");
    let report = fs::read_to_string(&report).unwrap();
    assert_eq!(report.matches("\"referrer_count\":1,").count(), LINKS);
    assert!(report.ends_with("}\n"), "{}", &report[report.len() - 1_000..]);
}

/// Runs the programs on the site of each case. Some may be too quick to be seen, but not all.
fn check(cases: Vec<Case>) {
    let all = programs(PROGRAMS);
    let mut are_seen = false;
    for case in cases {
        for (name, program) in PROGRAMS.iter().zip(&all) {
            if case.programs == For::All || *name == "crawl" {
                are_seen |= run(&case, name, program).is_some();
            }
        }
    }
    assert!(are_seen, "no peak memory of any program");
}

/// Runs a program on the site of a case, and checks its memory, its duration and its
/// rows. Returns its peak memory in KiB, if it was seen.
fn run(case: &Case, name: &str, program: &Path) -> Option<u64> {
    let dir = TempDir::new(&format!("{name}-{}", case.name.replace(' ', "-")));
    let (rows, log) = (dir.file("rows"), dir.file("log"));
    let script = Arc::clone(&case.script);
    let site = serve(move |request, reply| script(request, reply));
    let mut command = Command::new(program);
    command.args(["--format", "jsonl", site.url(&case.root).as_str()]).args(case.arguments);
    if case.arguments.last() == Some(&"--state") {
        command.arg(dir.file("journal"));
    }
    let begun = Instant::now();
    let (status, peak) = run_with_peak_memory(&mut command, &rows, &log);
    let (time, log) = (begun.elapsed(), fs::read_to_string(&log).unwrap());
    let case_name = case.name;
    assert!(time < MAX_TIME, "{name}: {case_name}: {time:?}");
    assert!(matches!(status.code(), Some(0 | 1 | 3)), "{name}: {case_name}: {status}: {log}");
    assert!(peak.is_none_or(|peak| peak < case.max_kib), "{name}: {case_name}: {peak:?} KiB");
    if dir.file("journal").exists() {
        let length = fs::metadata(dir.file("journal")).unwrap().len();
        assert!(length < 64 << 20, "{name}: {case_name}: a journal of {length} bytes");
    }
    let origin = site.url("");
    let rows = fs::read_to_string(&rows).unwrap();
    let rows: BTreeMap<String, Value> = rows
        .lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            (row["url"].as_str().unwrap().trim_start_matches(&origin).to_owned(), row)
        })
        .collect();
    let root = rows.get(&case.root);
    assert!((case.expects)(&rows, &log), "{name}: {case_name}: {root:?}: {log}");
    peak
}
