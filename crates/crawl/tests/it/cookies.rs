//! Cookies: a jar for each crawl, a file to begin with, and none if none are wanted.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use demo_site::scripted::Server;

use crate::program::{Scratch, WATCHDOG, crawl, run};

/// Starts a site of which all pages need a cookie that the root sets.
fn site() -> Server {
    Server::start(|request, reply| {
        let cookies = request.header("Cookie").unwrap_or_default();
        let has = |cookie: &str| cookies.split("; ").any(|other| other == cookie);
        match request.path() {
            "/" if has("session=1") => reply.page("<a href=/inside>x</a>"),
            "/" => {
                let headers = [
                    ("Location", "/"),
                    ("Set-Cookie", "session=1; HttpOnly"),
                    ("Set-Cookie", "kept=2; Max-Age=3600; Path=/inside"),
                ];
                reply.status(302, "Found", &headers, "");
            }
            "/inside" if has("session=1") && has("kept=2") => reply.page(""),
            "/forever" => {
                let cookie = ("Set-Cookie", "again=1");
                reply.status(302, "Found", &[("Location", "/forever"), cookie], "");
            }
            _ => reply.status(403, "Forbidden", &[], ""),
        }
    })
    .unwrap()
}

#[test]
fn a_crawl_keeps_cookies_unless_none_are_wanted() {
    let site = site();
    let root = site.url("/");
    let report = run(&[&root]).expect_code(0).stdout;
    assert_eq!(report, "Checked 2 URLs: nothing is broken.\n");
    // The next crawl begins without.
    let hits = site.hits("/");
    run(&[&root]).expect_code(0);
    assert_eq!(site.hits("/"), hits + 2);
    let report = run(&[&root, "--no-cookies"]).expect_code(1).stdout;
    assert!(report.contains("the URL redirects to itself"), "{report}");
    // What the user says is sent as it is.
    let mine = ["-H", "Cookie: session=1; kept=2", &root];
    run(&mine).expect_code(0);
}

#[test]
fn a_redirect_to_itself_is_followed_once() {
    let site = site();
    let report = run(&[&site.url("/forever")]).expect_code(1).stdout;
    assert!(report.contains("redirect loop"), "{report}");
    assert_eq!(site.hits("/forever"), 2);
}

/// A site without cookies has the session in its URLs, which the user strips.
#[test]
fn a_redirect_to_itself_is_one_without_what_is_stripped() {
    let site = Server::start(|request, reply| match request.header("Cookie") {
        Some("sid=1") => reply.page(""),
        _ => {
            let headers = [("Location", "/?sid=1"), ("Set-Cookie", "sid=1")];
            reply.status(302, "Found", &headers, "");
        }
    })
    .unwrap();
    run(&["--strip-query", "sid", &site.url("/")]).expect_code(0);
}

/// Nothing is stripped from the URLs of other sites.
#[test]
fn a_redirect_to_itself_of_another_site_keeps_its_query() {
    let other = Server::start(|request, reply| match request.header("Cookie") {
        Some("seen=1") => reply.page(""),
        _ => {
            let headers = [("Location", request.target.as_str()), ("Set-Cookie", "seen=1")];
            reply.status(302, "Found", &headers, "");
        }
    })
    .unwrap();
    let link = format!("<a href='{}'>x</a>", other.url("/?utm_source=a"));
    let site = Server::start(move |_, reply| reply.page(&link)).unwrap();
    let arguments = ["--external", "--strip-query", "utm_source", &*site.url("/")];
    run(&arguments).expect_code(0);
    assert!(other.requests() >= 2, "{}", other.requests());
}

#[test]
fn a_file_of_cookies_is_read_and_written() {
    let site = site();
    let file = Scratch::new();
    let arguments = ["--cookie-jar", file.as_str(), &site.url("/")];
    run(&arguments).expect_code(0);
    let text = String::from_utf8(file.read()).unwrap();
    assert!(text.starts_with("# Netscape HTTP Cookie File\n"), "{text}");
    assert!(text.contains("#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\t1\n"), "{text}");
    assert!(text.contains("\tkept\t2\n"), "{text}");
    // The second crawl is let in at once.
    let hits = site.hits("/");
    run(&arguments).expect_code(0);
    assert_eq!(site.hits("/"), hits + 1);
    file.write(b"no cookies");
    let stderr = run(&arguments).expect_code(2).stderr;
    assert!(stderr.contains("line 1 is not a usable cookie"), "{stderr}");
}

/// It may be what another program writes, and can be read once only.
#[test]
fn a_file_of_cookies_may_be_a_pipe() {
    let config = Scratch::with("cookie-jar = '/dev/stdin'\n");
    for arguments in [["--cookie-jar", "/dev/stdin"], ["--config", config.as_str()]] {
        let site = site();
        let mut command = crawl(&[&arguments[..], &[&site.url("/")]].concat());
        let (reader, mut writer) = std::io::pipe().unwrap();
        for pair in ["session\t1", "kept\t2"] {
            writeln!(writer, "127.0.0.1\tFALSE\t/\tFALSE\t0\t{pair}").unwrap();
        }
        drop(writer);
        let status = command.stdin(reader).stdout(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(0));
        assert_eq!(site.hits("/"), 1);
    }
}

/// More than a pipe holds. Nothing is written back, since nothing would read it.
#[test]
fn a_large_file_of_cookies_may_be_a_pipe() {
    let site = site();
    let mut command = crawl(&["--cookie-jar", "/dev/stdin", &site.url("/")]);
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut child = command.stdin(reader).stdout(Stdio::null()).spawn().unwrap();
    let write = thread::spawn(move || {
        for n in 0..1000 {
            let (host, value) = (n % 10, "x".repeat(200));
            writeln!(writer, "{host}.test\tFALSE\t/\tFALSE\t0\tn{n}\t{value}").unwrap();
        }
    });
    let deadline = Instant::now() + WATCHDOG;
    while child.try_wait().unwrap().is_none() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(2));
    }
    let _ = child.kill();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    write.join().unwrap();
}

/// The file is replaced at once, and neither its link nor its permissions are.
#[test]
fn a_file_of_cookies_stays_what_it_is() {
    let site = site();
    let (file, link) = (Scratch::new(), Scratch::new());
    symlink(file.path(), link.path()).unwrap();
    let arguments = ["--cookie-jar", link.as_str(), &site.url("/")];
    let mode = || fs::metadata(file.path()).unwrap().permissions().mode() & 0o777;
    file.write(b"# Netscape HTTP Cookie File\n");
    let inode = fs::metadata(file.path()).unwrap().ino();
    fs::set_permissions(file.path(), Permissions::from_mode(0o640)).unwrap();
    run(&arguments).expect_code(0);
    assert!(String::from_utf8(file.read()).unwrap().contains("session"));
    assert!(fs::symlink_metadata(link.path()).unwrap().is_symlink());
    assert_eq!(mode(), 0o640);
    assert_ne!(fs::metadata(file.path()).unwrap().ino(), inode);
    // A new one is for its owner alone.
    fs::remove_file(file.path()).unwrap();
    fs::remove_file(link.path()).unwrap();
    run(&["--cookie-jar", file.as_str(), &site.url("/")]).expect_code(0);
    assert_eq!(mode(), 0o600);
    // What is no file is written to.
    run(&["--cookie-jar", "/dev/null", &site.url("/")]).expect_code(0);
}
