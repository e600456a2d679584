//! The files of a crawl: a report never replaces a journal, whatever their names, and a
//! journal that was put together by hand is refused or harmless; and files to be checked that
//! have strange names.
#![cfg(unix)]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use demo_site::scripted::Server;
use test_support::authority::Authority;

use crate::program::{ProgramOutput, Running, Scratch, crawl, rows, run};

fn site() -> Server {
    Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/1>1</a><a href=/2>2</a>"),
        _ => reply.page(""),
    })
    .unwrap()
}

/// Returns the journal of a site that was crawled.
fn journal(server: &Server) -> Scratch {
    let journal = Scratch::new();
    run(&["--state", journal.as_str(), &server.url("/")]).expect_code(0);
    journal
}

/// Runs a command that would write its output over its journal.
#[track_caller]
fn assert_refused(command: Command, journal: &Scratch, server: &Server) {
    let (before, requests) = (journal.read(), server.requests());
    let output = Running::start(command).wait().expect_code(2);
    assert!(output.stderr.contains("--state"), "{}", output.stderr);
    assert_eq!((journal.read(), server.requests()), (before, requests));
}

#[test]
fn a_file_is_known_by_all_its_names() {
    let server = site();
    let root = server.url("/");
    let journal = journal(&server);
    let (hard, soft) = (Scratch::new(), Scratch::new());
    fs::hard_link(journal.path(), hard.path()).unwrap();
    symlink(journal.path(), soft.path()).unwrap();
    for name in [&journal, &hard, &soft] {
        for (output, state) in [(&journal, name), (name, &journal)] {
            let command = crawl(&["-o", output.as_str(), "--state", state.as_str(), &root]);
            assert_refused(command, &journal, &server);
        }
        // Stdout and stderr are a file, too.
        let append = || File::options().append(true).open(name.path()).unwrap();
        for state in [journal.as_str(), "/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"] {
            for output in ["-", "/dev/stdout"] {
                if state.starts_with("/proc") && !cfg!(target_os = "linux") {
                    continue;
                }
                let (before, requests) = (journal.read(), server.requests());
                let mut command = crawl(&["-o", output, "--state", state, &root]);
                let child = command.stdout(append()).stderr(Stdio::null()).spawn().unwrap();
                let status = { child }.wait().unwrap();
                assert_eq!(status.code(), Some(2), "{state} {output}");
                assert_eq!((journal.read(), server.requests()), (before, requests));
            }
        }
        let mut command = crawl(&["--state", journal.as_str(), "-v", &root]);
        let (before, requests) = (journal.read(), server.requests());
        let child = command.stdout(Stdio::null()).stderr(append()).spawn().unwrap();
        assert_eq!({ child }.wait().unwrap().code(), Some(2));
        // The message itself goes to stderr.
        assert!(journal.read().starts_with(&before) && server.requests() == requests);
        fs::write(journal.path(), before).unwrap();
    }
    // Files that do not exist yet are compared by their folders.
    let new = Scratch::new();
    let (folder, name) = (new.path().parent().unwrap(), new.path().file_name().unwrap());
    let linked = Scratch::new();
    symlink(folder, linked.path()).unwrap();
    let other = linked.path().join(name);
    let command = crawl(&["-o", new.as_str(), "--state", other.to_str().unwrap(), &root]);
    assert_refused(command, &new, &server);
    assert!(!new.path().exists());
}

/// A file may have several names.
#[test]
fn a_file_is_not_written_for_two_flags() {
    let (one, other) = (Scratch::with("kept"), Scratch::with_ending(".json"));
    fs::hard_link(one.path(), other.path()).unwrap();
    let (one, other) = (one.as_str(), other.as_str());
    let frontier = ["--frontier", "redis://127.0.0.1:1/", "--crawl", "x"];
    for (flags, named) in [
        (&["--journal", one, "-o", other][..], "--journal"),
        (&["--journal", one, "--cache", other], "--journal"),
        (&["--journal", one, "--trace", other], "--journal"),
    ] {
        let output = run(&[&["http://localhost:1/"], &frontier[..], flags].concat()).expect_code(2);
        assert!(output.stderr.contains(named), "{flags:?}: {}", output.stderr);
        assert!(output.stderr.contains("the same file"), "{flags:?}: {}", output.stderr);
    }
    for flag in ["--state", "--record", "--cache", "--baseline", "--replay"] {
        let output = run(&["http://localhost:1/", flag, one, "-o", other]).expect_code(2);
        if flag != "--replay" {
            assert!(output.stderr.contains("the same file"), "{flag}: {}", output.stderr);
        }
    }
    assert_eq!(fs::read_to_string(one).unwrap(), "kept");
}

/// Nor do a record or a journal.
#[test]
fn a_report_does_not_replace_the_certificates() {
    let pem = Authority::new("Root").pem();
    let file = Scratch::with(&pem);
    for flags in [["-o", file.as_str()], ["--record", file.as_str()], ["--state", file.as_str()]] {
        let arguments = [&["http://127.0.0.1:1/", "--cacert", file.as_str()], &flags[..]].concat();
        let stderr = run(&arguments).expect_code(2).stderr;
        let is_named = stderr.contains("--cacert") && stderr.contains("the same file");
        assert!(is_named, "{flags:?}: {stderr}");
    }
    assert_eq!(file.read(), pem.as_bytes());
}

/// A runner takes a line that begins like this for a command.
#[test]
fn a_file_name_with_a_line_end_is_no_command() {
    let name = "/no/such\n::error::x";
    for arguments in [["--input", name], ["--state", name], ["-o", name]] {
        let output = run(&[&["http://127.0.0.1:1/"], &arguments[..]].concat());
        assert!(!output.stderr.contains("\n::"), "{arguments:?}: {}", output.stderr);
        let shown = "/no/such\\u000a::error::x";
        assert!(output.stderr.contains(shown), "{arguments:?}: {}", output.stderr);
    }
}

/// The report is written, although the disk has no room for the trace.
#[test]
#[cfg(target_os = "linux")]
fn a_trace_that_cannot_be_written_costs_no_report() {
    let site = Server::start(|_, reply| reply.page("")).unwrap();
    let trace = Scratch::with_ending(".json");
    symlink("/dev/full", trace.path()).unwrap();
    let output = run(&["--trace", trace.as_str(), &site.url("/")]).expect_code(3);
    assert!(output.stderr.contains("the trace cannot be written"), "{}", output.stderr);
    assert!(output.stdout.contains("Checked 1 URL"), "{}", output.stdout);
}

#[test]
fn what_is_for_one_process_is_refused_with_a_frontier() {
    let cache = Scratch::new();
    let frontier = ["--frontier", "redis://127.0.0.1:1/", "--crawl", "x"];
    for roots in [&["http://localhost:1/"][..], &[]] {
        for flags in [["--cache", cache.as_str()], ["--external-rate", "1"]] {
            let output = run(&[roots, &frontier[..], &flags[..]].concat()).expect_code(2);
            let why = format!("{} works only for a crawl in one process", flags[0]);
            assert!(output.stderr.contains(&why), "{roots:?} {flags:?}: {}", output.stderr);
        }
    }
}

/// Each report, the trace and the journal are files of their own, whatever their names.
#[test]
fn several_reports_go_to_several_files() {
    let server = site();
    let root = server.url("/");
    let report = Scratch::with("as before");
    let (hard, soft) = (Scratch::with_ending(".json"), Scratch::with_ending(".json"));
    fs::hard_link(report.path(), hard.path()).unwrap();
    symlink(report.path(), soft.path()).unwrap();
    let first = format!("csv:{}", report.as_str());
    for name in [hard.as_str(), soft.as_str()] {
        let second = format!("json:{name}");
        for (arguments, problem) in [
            (["-o", &*first, "-o", &*second], "two reports"),
            (["-o", &*second, "-o", &*first], "two reports"),
            (["-o", &*first, "--trace", name], "--trace"),
            (["-o", &*first, "--state", name], "--state"),
        ] {
            let csv = ["-o", "csv:/dev/null"];
            let output = run(&[&csv[..], &arguments, &[&*root]].concat()).expect_code(2);
            assert!(output.stderr.contains(problem), "{arguments:?}: {}", output.stderr);
        }
        // A report goes to stdout, or the sum does.
        for arguments in [
            ["-o", "csv:-", "-o", &*second],
            ["-o", "csv:-", "--trace", name],
            ["-o", "csv:/dev/null", "--trace", name],
            ["-o", "csv:/dev/null", "--state", name],
        ] {
            let stdout = File::options().append(true).open(report.path()).unwrap();
            let mut command = crawl(&[&arguments[..], &[&*root]].concat());
            let child = command.stdout(stdout).stderr(Stdio::null()).spawn().unwrap();
            assert_eq!({ child }.wait().unwrap().code(), Some(2), "{arguments:?}");
        }
    }
    assert_eq!((report.read(), server.requests()), (b"as before".to_vec(), 0));
}

#[test]
fn a_special_file_is_no_journal() {
    let server = site();
    let root = server.url("/");
    let fifo = Scratch::new();
    assert!(Command::new("mkfifo").arg(fifo.path()).status().unwrap().success());
    let folder = std::env::temp_dir();
    for state in [fifo.as_str(), folder.to_str().unwrap(), "/dev/null", "/dev/zero", "/dev/tty"] {
        let begun = Instant::now();
        let output = run(&["--state", state, &root]).expect_code(3);
        assert!(output.stderr.contains("not a regular file"), "{state}: {}", output.stderr);
        assert!(begun.elapsed() < Duration::from_secs(5), "{state}");
    }
    // A pipe is what stdout is here.
    let output = run(&["--state", "/dev/stdout", &root]).expect_code(3);
    assert!(output.stderr.contains("not a regular file"), "{}", output.stderr);
    assert_eq!(server.requests(), 0);
}

/// A line without end is refused by its number, in little memory.
#[test]
fn a_line_of_a_journal_has_a_limit() {
    let server = site();
    let journal = journal(&server);
    let whole = journal.read();
    let file = File::options().write(true).open(journal.path()).unwrap();
    file.set_len(600 << 20).unwrap();
    // In KiB: less than the file.
    let limited = format!(
        "ulimit -v 500000; exec '{}' --no-robots --state '{}' {}",
        env!("CARGO_BIN_EXE_crawl"),
        journal.as_str(),
        server.url("/")
    );
    let mut command = Command::new("sh");
    command.args(["-c", &limited]);
    let requests = server.requests();
    let output = Running::start(command).wait().expect_code(3);
    assert!(output.stderr.contains("line 6 has more than 67108864 bytes"), "{}", output.stderr);
    assert_eq!(server.requests(), requests);
    file.set_len(whole.len() as u64).unwrap();
    run(&["--state", journal.as_str(), &server.url("/")]).expect_code(0);
}

/// A record that is there twice is one row, and leads to nothing new.
#[test]
fn a_record_that_is_there_twice_is_one_row() {
    let server = site();
    let journal = journal(&server);
    let text = String::from_utf8(journal.read()).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let requests = server.requests();
    for n in 2..lines.len() {
        for at in n + 1..=lines.len() {
            let mut doubled = lines.clone();
            doubled.insert(at, lines[n]);
            journal.write(doubled.concat());
            let arguments = ["--format", "jsonl", "--state", journal.as_str(), &server.url("/")];
            let output = run(&arguments).expect_code(0);
            assert_eq!(rows(&output.stdout).len(), 3, "{n} {at}: {}", output.stdout);
            assert_eq!(output.stdout.lines().count(), 3);
        }
    }
    assert_eq!(server.requests(), requests);
}

/// Runs the program in a new folder with these files.
fn run_in_folder(files: &[(&[u8], &str)], arguments: &[&str]) -> ProgramOutput {
    let folder = Scratch::new();
    for (name, contents) in files {
        let file = folder.path().join(OsStr::from_bytes(name));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, contents).unwrap();
    }
    let mut command = crawl(arguments);
    command.current_dir(folder.path());
    let output = Running::start(command).wait();
    fs::remove_dir_all(folder.path()).unwrap();
    output
}

/// A name has any bytes but two, and need not be UTF-8.
#[test]
#[cfg(target_os = "linux")]
fn a_file_with_any_name_is_checked() {
    let files = [
        (&b"a.html"[..], "<a href=caf%E9.html>x</a><a href=caf%E8.html>x</a><a href=%FF>x</a>"),
        (b"caf\xe9.html", "<a href=gone%E9>y</a>"),
        (b"\xff/index.html", ""),
    ];
    let report = run_in_folder(&files, &["."]).expect_code(1).stdout;
    assert_eq!(
        report,
        "no such file  caf%E8.html\n    on a.html, line 1: x\n\n\
         no such file  gone%E9\n    on caf%E9.html, line 1: y\n\n\
         Checked 5 URLs: 2 are broken (2 links lead to them).\n"
    );
}

/// A path that begins a line is no command, and has no line in it.
#[test]
fn the_path_of_a_file_is_no_command_of_github() {
    let files = [
        (&b"::error::x.html"[..], "<a href=gone>x</a>"),
        (b"a\n::error::y.html", "<a href=./::gone>x</a>"),
    ];
    for flags in [&["--by-page"][..], &["--format", "chapter", "-v"], &["--format", "csv"]] {
        let output = run_in_folder(&files, &[&["."], flags].concat()).expect_code(1);
        assert!(output.stdout.contains("./::error::x.html"), "{}", output.stdout);
        assert!(output.stdout.contains("a\\u000a::error::y.html"), "{}", output.stdout);
        for line in output.stdout.lines().chain(output.stderr.lines()) {
            assert!(!line.trim_start().starts_with("::"), "{line}");
        }
    }
}

/// Slashes before a path do not make it one from the root of the file system.
#[test]
fn no_link_leads_out_of_the_folder() {
    let outside = Scratch::with_ending(".html");
    outside.write("");
    let page = format!("<a href='/./{}'>x</a>", outside.as_str());
    let report = run_in_folder(&[(b"a.html", &page)], &["."]).expect_code(1).stdout;
    assert!(report.starts_with(&format!("no such file  {}\n", &outside.as_str()[1..])), "{report}");
}
