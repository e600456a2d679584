//! The file `crawl.toml`.

use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use demo_site::scripted::Server;

use crate::program::{ProgramOutput, Running, Scratch, program, rows};

/// A folder with a crawl.toml, and a folder below it.
struct Folder(PathBuf);

impl Folder {
    fn new(text: &str) -> Self {
        let folder = PathBuf::from(Scratch::new().as_str());
        fs::create_dir_all(folder.join("below")).unwrap();
        fs::write(folder.join("crawl.toml"), text).unwrap();
        Self(folder)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program(arguments);
        command.current_dir(self.0.join("below"));
        command
    }

    fn run(&self, arguments: &[&str]) -> ProgramOutput {
        Running::start(self.command(arguments)).wait()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn the_file_above_holds_and_flags_beat_it() {
    let site = Server::start(|_, reply| reply.page("<a href=/a>a</a>")).unwrap();
    let root = site.url("/");
    let folder = Folder::new(
        "no-robots = true\nmax-depth = 0\nformat = \"jsonl\"\nquiet = true\n\
         output = [\"json:x.json\", \"-\"]\nuser = \"me:word\"\nexclude = [\"/no\", \"/never\"]\n\
         trace = \"trace.json\"\n",
    );
    let output = folder.run(&[&root]).expect_code(0);
    assert_eq!(rows(&output.stdout).len(), 1);
    for file in ["x.json", "trace.json"] {
        assert!(folder.0.join(file).exists(), "paths begin at the folder of the file: {file}");
    }
    let output = folder.run(&[&root, "--max-depth", "1", "-v"]).expect_code(0);
    assert_eq!(rows(&output.stdout).len(), 2);
    assert!(output.stderr.contains("/a"), "-v leaves the quiet of the file out");
    let output = folder.run(&[&root, "--config", "/dev/null"]).expect_code(0);
    assert!(output.stdout.starts_with("Checked 2 URLs"), "{}", output.stdout);
    assert_eq!(site.hits("/robots.txt"), 1);
}

/// Returns what `--print-config` shows of a file and of flags.
fn printed(text: &str, flags: &[&str]) -> String {
    let arguments = [&["--print-config", "http://a.test"], flags].concat();
    Folder::new(text).run(&arguments).expect_code(0).stdout
}

#[cfg(feature = "redis")]
const FRONTIER: &str = "frontier = 'redis://a.test'\ncrawl = 'x'\nfrontier-wait = 1\njournal = 'j'";

/// Some settings have two flags.
#[test]
fn a_flag_beats_the_same_setting_of_the_file() {
    for (text, flags, gone) in [
        ("format = 'csv'", &["--format", "json"][..], "csv"),
        ("output = ['json:x', 'csv:y']", &["-o", "z"], "/x"),
        ("header = ['X-A: y']", &["-H", "X-B: z"], "X-A"),
        ("lenient = true", &["--strict"], "lenient"),
        ("quiet = true", &["-v"], "quiet"),
        ("verbose = true", &["-q"], "verbose"),
        ("broken-only = true", &["--all"], "broken-only"),
        ("proxy = 'http://p.test'", &["--no-proxy"], "p.test"),
        ("no-proxy = true", &["--proxy", "http://p.test"], "no-proxy"),
        ("cookie-jar = '/dev/null'", &["--no-cookies"], "cookie-jar"),
    ] {
        let printed = printed(text, flags);
        assert!(!printed.contains(gone), "{text} {flags:?}: {printed}");
    }
}

#[test]
fn settings_that_go_together_are_taken_from_both() {
    for (text, flags, kept) in [
        ("header = ['X-A: y']", &["-u", "a:b"][..], "X-A"),
        ("select = 't=h1'\nformat = 'json'", &["-o", "x"], "select"),
        ("select = 't=h1'\noutput = 'json:x'", &["--format", "text"], "select"),
        ("broken-only = true", &["--format", "json"], "broken-only"),
        ("format = 'csv'", &["-o", "json:-", "-o", "x"], "csv"),
        #[cfg(feature = "redis")]
        (FRONTIER, &["-j", "3"], "crawl ="),
    ] {
        let printed = printed(text, flags);
        assert!(printed.contains(kept), "{text} {flags:?}: {printed}");
    }
    // A question about a crawl ignores the journal that the file names.
    #[cfg(feature = "redis")]
    Folder::new(FRONTIER).run(&["--print-config", "--status"]).expect_code(0);
}

#[test]
fn settings_that_exclude_each_other_are_refused() {
    #[cfg(feature = "redis")]
    let worker = &["--frontier", "redis://a.test", "--crawl", "x"][..];
    for (text, flags, from_file, other) in [
        ("user = 'me:x'", &["-H", "authorization: y"][..], "--user", "--header"),
        ("header = ['Authorization: x', 'X-A: y']", &["-u", "a:b"], "--header", "--user"),
        ("select = 't=h1'", &["--format", "text"], "--select", "--format"),
        ("select = 't=h1'\noutput = 'json:x'", &["-o", "html:x"], "--select", "--format"),
        ("broken-only = true", &["--format", "sitemap"], "--broken-only", "--format"),
        ("broken-only = true", &["-o", "sitemap:x"], "--broken-only", "--output"),
        ("output = ['sitemap:x', 'json:y']", &["--broken-only"], "--output", "--broken-only"),
        ("format = 'sitemap'\n", &["--broken-only"], "--format", "--broken-only"),
        ("format = 'csv'", &["-o", "json:-"], "--format", "--output"),
        ("output = ['json:-', 'csv:x']", &["--format", "html"], "--output", "--format"),
        ("by-page = true", &["--referrers", "3"], "--by-page", "--referrers"),
        ("cache = 'c'", &["--record", "r"], "--cache", "--record"),
        #[cfg(feature = "redis")]
        ("baseline = 'b'", worker, "--baseline", "--frontier"),
        #[cfg(feature = "redis")]
        ("follow-root = true", worker, "--follow-root", "--frontier"),
        #[cfg(feature = "redis")]
        ("cache = 'c'", worker, "--cache", "--frontier"),
        #[cfg(feature = "redis")]
        ("external-rate = 1", worker, "--external-rate", "--frontier"),
        #[cfg(feature = "redis")]
        ("max-depth = 3", worker, "--max-depth", "--frontier"),
        #[cfg(feature = "redis")]
        (FRONTIER, &["--follow-root"], "--frontier", "--follow-root"),
        #[cfg(feature = "redis")]
        (FRONTIER, &["--sitemap"], "--frontier", "--sitemap"),
    ] {
        let folder = Folder::new(text);
        let arguments = [&["http://a.test"], flags].concat();
        let stderr = folder.run(&arguments).expect_code(2).stderr;
        let line = stderr.lines().next().unwrap();
        let file = fs::canonicalize(folder.0.join("crawl.toml")).unwrap();
        let origin = format!(" ({from_file} is from {})", file.display());
        assert!(line.ends_with(&origin), "{text} {flags:?}: {stderr}");
        assert!(line.contains(other), "{text} {flags:?}: {stderr}");
    }
    // A file that contradicts itself is wrong, too.
    let folder = Folder::new("user = 'me:x'\nheader = 'Authorization: y'\n");
    let stderr = folder.run(&["http://a.test", "--format", "text"]).expect_code(2).stderr;
    assert!(stderr.contains("(--user and --header are from "), "{stderr}");
    // Both flags are from the command line, so the message does not mention the file.
    let stderr = folder.run(&["http://a.test", "-q", "-v"]).expect_code(2).stderr;
    assert!(!stderr.contains("crawl.toml"), "{stderr}");
}

/// A file may come from anyone, such as with a site that is cloned.
#[test]
fn what_a_file_says_is_escaped_on_the_terminal() {
    for text in [
        "max-tasks = \"\\u001b[2J\\n::error::x\"",
        "\"\\u001b[2J\\n::error::x\" = 1",
        "header = \"\\u001b[2J\\n::error::x: x\"",
        "[host.\"a.test\"]\n\"\\u001b[2J\\n::error::x\" = 1",
        "cacert = \"x\\u001b[2J\\n::error::y\"",
        "cookie-jar = \"/no/x\\u001b[2J\\n::error::y\"",
    ] {
        let folder = Folder::new(text);
        let mut command = folder.command(&["http://a.test"]);
        // As on a terminal: what is no color is not taken out.
        command.env("CLICOLOR_FORCE", "1");
        let stderr = Running::start(command).wait().expect_code(2).stderr;
        assert!(stderr.contains("crawl.toml, line "), "{text}: {stderr:?}");
        assert!(!stderr.contains("\u{1b}[2J") && !stderr.contains("\n::"), "{text}: {stderr:?}");
    }
}

#[test]
fn the_settings_are_printed_without_secrets() {
    let folder = Folder::new(
        "user = \"me:s3cret\"\nproxy = \"socks5://me:s3cret@p.test\"\nexclude = ['a\"b', \"c\"]\n\
         [host.\"*.a.test\"]\ndelay = 2\nheader = [\"X-Token: s3cret\"]\ncheck = false\n",
    );
    let output = folder.run(&["--print-config", "-j", "3", "http://a.test"]).expect_code(0);
    let file = fs::canonicalize(folder.0.join("crawl.toml")).unwrap();
    let expected = "exclude = [\"a\\\"b\", \"c\"]\nuser = \"me:***\"\n\
                    proxy = \"socks5://***@p.test\"\nmax-tasks = \"3\"\n\n[host.\"*.a.test\"]\ncheck = false\n\
                    delay = \"2\"\nheader = \"X-Token: ***\"\n";
    assert_eq!(output.stdout, format!("# With {}\n{expected}", file.display()));
    // What is printed can be read.
    let again = Folder::new(&output.stdout.replace("X-Token: ***", "X-Token: x"));
    again.run(&["--print-config"]).expect_code(0);
}

/// The shell has emptied the file before it is read.
#[test]
fn the_settings_can_be_printed_into_the_file_itself() {
    let folder = Folder::new("");
    let file = folder.0.join("crawl.toml");
    let mut command = folder.command(&["--print-config", "-j", "3", "http://a.test"]);
    let status = command.stdout(File::create(&file).unwrap()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(fs::read_to_string(file).unwrap().ends_with("max-tasks = \"3\"\n"));
}

#[cfg(feature = "redis")]
#[test]
fn the_password_of_a_frontier_is_not_printed() {
    for (url, printed) in [
        ("redis://me:s3cret@r.test/1", "redis://***@r.test/1"),
        ("rediss://:s3cret@r.test/", "rediss://***@r.test/"),
        ("unix:///run/redis?db=1&password=s3cret", "unix:///run/redis?***"),
        ("redis://r.test/", "redis://r.test/"),
    ] {
        let folder = Folder::new(&format!("frontier = \"{url}\"\n"));
        let output = folder.run(&["--print-config", "--crawl", "x"]).expect_code(0);
        let expected = format!("frontier = \"{printed}\"\n");
        assert!(output.stdout.contains(&expected), "{}", output.stdout);
    }
}

#[test]
fn what_is_wrong_in_a_file_is_named_with_its_line() {
    for (text, line, message) in [
        ("\nmax-task = 3\n", 2, "unknown setting 'max-task': did you mean 'max-tasks'?"),
        ("exlude = 'x'\n", 1, "unknown setting 'exlude': did you mean 'exclude'?"),
        ("max_depth = 'two'\n", 1, "write a number"),
        ("max_redirect = 4294967296\n", 1, "the number is too large"),
        ("max-tasks = 0\n", 1, "invalid value '0' for '--max-tasks <N>'"),
        ("external = 3\n", 1, "'3'"),
        ("# x\nmax-tasks = true\n", 2, "'max-tasks' needs a value"),
        ("max-tasks = 1.5\n", 1, "write a text, a number"),
        ("fresh = true\n", 1, "unknown setting 'fresh'"),
        ("drop = true\n", 1, "unknown setting 'drop'"),
        ("status = true\n", 1, "unknown setting 'status'"),
        ("report = true\n", 1, "unknown setting 'report'"),
        ("for-host = \"a.test delay=1\"\n", 1, "unknown setting 'for-host'"),
        ("a = \n", 1, ""),
        ("external = true\nexternal = true\n", 2, "duplicate key"),
        ("host = 3\n", 1, "[host.\"NAME\"]"),
        ("[host.\"a.test\"]\n\ndelya = 3\n", 3, "a host has no setting 'delya'"),
        ("[host.\"a.test\"]\ndelay = \"soon\"\n", 2, "write"),
        ("\n[host.\"a test\"]\ndelay = 1\n", 2, "write a host as a.test"),
        ("[hosts]\n", 1, "unknown setting 'hosts'"),
        ("header = \"Authorization Bearer s3cret\"\n", 1, "header: write a header as 'Name: "),
        ("\nuser = \"s3cret\"\n", 2, "user: write name and password as NAME:PASSWORD"),
    ] {
        let folder = Folder::new(text);
        let output = folder.run(&["http://a.test"]).expect_code(2);
        let place = format!("crawl.toml, line {line}: ");
        let is_named = output.stderr.contains(&place) && output.stderr.contains(message);
        assert!(is_named, "{text}: {}", output.stderr);
        assert!(!output.stderr.contains("s3cret"), "{text}: {}", output.stderr);
    }
}

/// Only root can make a file of another user.
#[test]
#[ignore = "needs root"]
fn a_file_of_another_user_is_told() {
    let folder = Folder::new("format = \"jsonl\"\n");
    chown(folder.0.join("crawl.toml"), Some(65_533), None).unwrap();
    let output = folder.run(&["--print-config", "http://a.test"]).expect_code(0);
    assert!(!output.stdout.contains("jsonl"), "{}", output.stdout);
    let warning = "crawl.toml belongs to another user and is not read (--config reads it)\n";
    assert!(output.stderr.starts_with("[warning] "), "{}", output.stderr);
    assert!(output.stderr.ends_with(warning), "{}", output.stderr);
    let output = folder.run(&["--print-config", "--config", "../crawl.toml"]).expect_code(0);
    assert!(output.stdout.contains("jsonl") && output.stderr.is_empty(), "{}", output.stderr);
    // One who owns the folder as well is the user of a container's files.
    chown(folder.0.join("below"), Some(65_533), None).unwrap();
    let output = folder.run(&["--print-config"]).expect_code(0);
    assert!(output.stdout.contains("jsonl") && output.stderr.is_empty(), "{}", output.stderr);
}

/// Two sites with the same pages, one of which has settings of its own.
#[test]
fn a_host_has_settings_of_its_own() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&log);
    let other = Server::start(move |request, reply| {
        let token = request.header("x-token").unwrap_or("-").to_owned();
        seen.lock().unwrap().push((Instant::now(), request.path().to_owned(), token));
        match request.path() {
            "/slow" => reply.sleep(Duration::from_secs(20)),
            "/gone" => reply.status(410, "Gone", &[], ""),
            _ => reply.page(""),
        }
    });
    let other = other.unwrap();
    let links = ["/a", "/b", "/no/c", "/no?d", "/gone", "/slow"];
    let links: String = links
        .iter()
        .map(|path| format!("<a href={}>x</a>", other.url(path)))
        .chain(["<a href=http://unchecked.test/>x</a>".to_owned()])
        .collect();
    let site = Server::start(move |_, reply| reply.page(&links)).unwrap();
    let folder = Folder::new(&format!(
        "no-robots = true\nexternal = true\nformat = \"jsonl\"\nmax-tries = 1\n\
         [host.\"http://{}\"]\ndelay = \"100ms\"\nmax-tasks = 1\nheader = \"X-Token: s3cret\"\n\
         exclude = \"^/no\"\naccept = \"410\"\nread-timeout = \"2s\"\n\
         [host.\"unchecked.test\"]\ncheck = false\n",
        other.address(),
    ));
    let begun = Instant::now();
    let output = folder.run(&[&site.url("/")]).expect_code(0);
    assert!(begun.elapsed() < Duration::from_secs(15));
    let rows = rows(&output.stdout);
    let of = |path: &str| rows.get(&other.url(path)).map(|row| row["outcome"].clone());
    for path in ["/a", "/b"] {
        assert_eq!(of(path).unwrap(), "other", "{}", output.stdout);
    }
    assert_eq!((of("/no/c"), of("/no?d")), (None, None));
    assert_eq!(rows.get(&other.url("/slow")).unwrap()["error"]["class"], "timeout");
    assert!(!output.stdout.contains("unchecked.test"), "{}", output.stdout);
    let log = log.lock().unwrap();
    assert!(log.iter().all(|(_, _, token)| token == "s3cret"), "{log:?}");
    assert!(log.len() >= 6);
    let took = log[log.len() - 1].0.duration_since(log[0].0);
    // A busy server notes the first request late.
    let least = Duration::from_millis(100) * (log.len() as u32 - 1);
    assert!(took >= least / 2, "{log:?}");
    drop(log);
    // 410 is accepted there.
    let report = folder.run(&["--format", "text", &site.url("/")]).expect_code(0);
    assert!(
        report.stdout.contains("nothing that was checked is broken; external: 1 unsure"),
        "{}",
        report.stdout
    );
}

#[test]
fn hosts_outside_of_the_site_have_a_rate_of_their_own() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&times);
    let other = Server::start(move |_, reply| {
        log.lock().unwrap().push(Instant::now());
        reply.status(204, "No Content", &[("Content-Type", "image/png")], "");
    });
    let other = other.unwrap();
    let links: String =
        (0..5).map(|n| format!("<a href={}>x</a>", other.url(&format!("/{n}")))).collect();
    let site = Server::start(move |_, reply| reply.page(&links)).unwrap();
    let arguments = ["--no-robots", "--external", "--external-rate", "4", &site.url("/")];
    Running::start(program(&arguments)).wait().expect_code(0);
    let times = times.lock().unwrap();
    assert_eq!(times.len(), 5);
    // Four times 250 ms; a busy server notes the first request late.
    assert!(times[4].duration_since(times[0]) >= Duration::from_millis(500), "{times:?}");
}

/// The settings of the file are in the record, and the file is not read again.
#[test]
fn a_crawl_with_a_file_is_replayed_without_it() {
    let site = Server::start(|_, reply| reply.page("<a href=/a>a</a><a href=/b>b</a>")).unwrap();
    let folder = Folder::new(&format!(
        "no-robots = true\nformat = \"jsonl\"\n[host.\"http://{}\"]\nexclude = \"/b\"\n\
         header = \"Authorization: s3cret\"\n",
        site.address(),
    ));
    let record = Scratch::new();
    let recorded = folder.run(&["--record", record.as_str(), &site.url("/")]).expect_code(0);
    assert_eq!(rows(&recorded.stdout).len(), 2);
    drop((folder, site));
    let other = Folder::new("format = \"csv\"\n");
    let replayed = other.run(&["--replay", record.as_str()]);
    assert_eq!((replayed.stdout, replayed.stderr), (recorded.stdout, recorded.stderr));
    let bytes = String::from_utf8_lossy(&fs::read(record.as_str()).unwrap()).into_owned();
    assert!(!bytes.contains("s3cret"));
}

#[test]
fn a_replay_says_that_it_reads_no_file() {
    let site = Server::start(|_, reply| reply.page("")).unwrap();
    let (folder, record) = (Folder::new("format = \"csv\"\n"), Scratch::new());
    let arguments = ["--no-robots", "--record", record.as_str(), &site.url("/")];
    folder.run(&arguments).expect_code(0);
    let printed = folder.run(&["--replay", record.as_str(), "--print-config"]).expect_code(0);
    let stdout = printed.stdout;
    assert!(stdout.starts_with("# A replay reads no crawl.toml\n"), "{stdout}");
    // It was read when the crawl was recorded.
    assert!(stdout.contains("format = \"csv\"\n"), "{stdout}");
}

#[test]
fn the_file_in_the_readme_is_right() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let (_, file) = readme.split_once("```toml\n").unwrap();
    let folder = Folder::new(file.split_once("```").unwrap().0);
    let output = folder.run(&["--print-config"]).expect_code(0);
    assert!(
        output.stdout.contains("[host.\"*.docs.test\"]\ndelay = \"500ms\""),
        "{}",
        output.stdout
    );
}
