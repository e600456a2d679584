//! Every flag of the command line, and the errors for bad values.

use std::collections::BTreeSet;
use std::process::Command;

use demo_site::scripted::Server;

use crate::program::{Running, Scratch, program, rows, run};

/// The flags with a value, each with bad values, which the message must name beside
/// the flag.
const BAD: [(&str, &[&str]); 52] = [
    ("--include", &["(", "[a"]),
    ("--exclude", &["(", "a{2,1}"]),
    ("--max-depth", &["-1", "deep", "4294967296"]),
    ("--max-pages", &["0", "many", "-1"]),
    ("--max-pages-per-host", &["all", "-1", "1.5"]),
    ("--max-wait", &["0", "soon"]),
    ("--max-time", &["0", "soon", "8000h", "-1s"]),
    ("--cookie-jar", &["/", "/no/such/folder/jar"]),
    ("--redirects", &["no", ""]),
    ("--check", &["pictures", "links,+x", "-links", "all,"]),
    ("--strip-query", &["a=b", "a&b"]),
    ("--max-tasks", &["0", "-1", "x", "100001", "18446744073709551615", "99999999999999999999"]),
    ("--max-concurrency", &["0"]),
    ("--max-tries", &["0", "x"]),
    ("--max-redirect", &["-1", "ten"]),
    ("--max-redirects", &["ten"]),
    ("--connect-timeout", &["0", "5d"]),
    ("--read-timeout", &["0ms", "x"]),
    ("--timeout", &["169h", "1.5s"]),
    ("--max-body-size", &["0", "10X", "99999999999G"]),
    ("--rate-limit", &["0", "-2", "fast"]),
    ("--delay", &["0", "x"]),
    ("--user-agent", &["\u{e9}", "a\nb"]),
    ("--header", &["no-colon", "Host: x", "a b: c"]),
    ("--user", &["nobody"]),
    // The message does not repeat what may have a password.
    ("--proxy", &[]),
    ("--cacert", &["/no/such/file", "/dev/null"]),
    ("--format", &["xml"]),
    ("--accept", &["99", "1000", "403..200", "x", "200..=", "200-299", "4x", "0xx"]),
    ("--select", &["h1", "=h1", "x=a[", "x=:no-such"]),
    ("--color", &["red"]),
    ("--output", &["json:"]),
    ("--trace", &["trace", "trace.xml"]),
    ("--referrers", &["-1", "many"]),
    ("--state", &[]),
    ("--record", &[]),
    ("--replay", &["/no/such/file", "/dev/null"]),
    ("--input", &["/no/such/list"]),
    ("--base-url", &["ftp://a.test/", "http://"]),
    ("--max-path-segments", &["0", "x"]),
    ("--max-repeats", &["0", "1", "x"]),
    ("--max-pages-per-pattern", &["0", "-1"]),
    ("--generate", &["pdf"]),
    ("--baseline", &["/no/such/file", "/dev/null"]),
    ("--external-rate", &["0", "fast"]),
    ("--cache", &[]),
    ("--cache-age", &["0", "0d", "1001d", "1w"]),
    ("--config", &["/no/such/file"]),
    ("--frontier", &[]),
    ("--crawl", &[]),
    ("--frontier-wait", &["0", "soon"]),
    ("--journal", &[]),
];

/// The flags without a value.
const SWITCHES: [&str; 26] = [
    "--one-page",
    "--strict",
    "--lenient",
    "--external",
    "--sitemap",
    "--no-robots",
    "--insecure",
    "--no-proxy",
    "--deny-private",
    "--broken-only",
    "--all",
    "--by-page",
    "--update-baseline",
    "--follow-root",
    "--no-cookies",
    "--no-progress",
    "--verbose",
    "--quiet",
    "--fresh",
    "--print-config",
    "--record-secrets",
    "--status",
    "--report",
    "--drop",
    "--help",
    "--version",
];

#[test]
fn a_bad_value_is_named_with_its_flag() {
    for (flag, values) in BAD {
        for value in values {
            let output = run(&["localhost", &format!("{flag}={value}")]).expect_code(2);
            let message = output.stderr;
            assert_eq!(output.stdout, "");
            // The message has the main name of a flag, not its alias.
            let name = flag.replace("concurrency", "tasks").replace("redirects", "redirect");
            assert!(message.contains(&name), "{flag} {value}: {message}");
            let shown = value.split(['\n', ',']).next_back().unwrap();
            assert!(message.contains(shown), "{flag} {value}: {message}");
        }
    }
}

#[test]
fn a_flag_with_a_value_needs_one_and_a_switch_has_none() {
    for (flag, _) in BAD {
        run(&["localhost", flag]).expect_code(2);
    }
    for switch in SWITCHES {
        run(&["localhost", &format!("{switch}=1")]).expect_code(2);
    }
}

#[test]
fn contradictions_are_refused() {
    for (flags, named) in [
        (&["--strict", "--lenient"][..], "--lenient"),
        (&["--verbose", "--quiet"], "--quiet"),
        (&["--fresh"], "--state"),
        (&["--journal", "a"], "--frontier"),
        (&["--proxy", "a.test", "--no-proxy"], "--no-proxy"),
        (&["--proxy", "ftp://a.test"], "--proxy"),
        (&["--record-secrets"], "--record "),
        (&["--record", "a", "--replay", "b"], "--replay"),
        (&["--record", "a", "--state", "b"], "--state"),
        (&["--record", "a", "--cache", "b"], "--cache"),
        (&["-o", "/no/such.json", "--trace", "/no/such.json"], "--trace"),
        (&["--update-baseline"], "--baseline"),
        (&["--cookie-jar", "/such", "--no-cookies"], "--no-cookies"),
        (&["--cookie-jar", "/such", "--record", "x"], "--record"),
        (&["--select", "title=h1"], "--format"),
        (&["--format", "sitemap", "--broken-only"], "--broken-only"),
        (&["-o", "sitemap:x", "--broken-only"], "--broken-only"),
        (&["--all", "--broken-only"], "--broken-only"),
        (&["--by-page", "--referrers", "3"], "--referrers"),
        (&["-o", "json:x", "-o", "csv:./x"], "same file"),
        (&["-o", "report.xml"], "write junit:report.xml or sitemap:report.xml"),
        (&["-o", "jnuit:x"], "unknown format 'jnuit': did you mean junit?"),
        (&["-o", "pdf:x"], "a file can be named ./pdf:x"),
        (&["-u", "a:b", "-H", "authorization: x"], "--user"),
        (&["-o", "/no/such/file", "--state", "/no/./such/file"], "--state"),
        (&["-o", "json:x", "--record", "./x"], "--record"),
        (&["-o", "json:x", "--cache", "./x"], "--cache"),
        (&["-o", "json:x", "--baseline", "./x"], "--baseline"),
        (&["--state", "x", "--trace", "x.json", "--cache", "./x.json"], "--cache"),
        (&["--state", "x", "--input", "./x"], "--input"),
        (&["--frontier", "redis://a.test", "--crawl", "x", "--baseline", "y"], "--baseline"),
    ] {
        let output = run(&[&["localhost"], flags].concat()).expect_code(2);
        assert!(output.stderr.contains(named), "{flags:?}");
    }
    let examples = run(&[]).expect_code(2).stderr;
    for example in ["crawl https://example.com", "crawl public", "crawl README.md docs"] {
        assert!(examples.contains(&format!("\n  {example} ")), "{examples}");
    }
}

/// People know these from other programs.
#[test]
fn a_flag_of_another_program_leads_to_the_one_here() {
    for (flag, meant) in [
        ("--depth", "'--max-depth'"),
        ("--ignore", "'--exclude'"),
        ("--fragments", "'--check +fragments'"),
    ] {
        let message = run(&["localhost", flag]).expect_code(2).stderr;
        assert!(message.contains(&format!("tip: a similar argument exists: {meant}")), "{message}");
    }
}

#[test]
fn a_password_does_not_belong_in_a_url() {
    let message = run(&["http://me:secret@localhost/"]).expect_code(2).stderr;
    assert!(message.contains("--user"), "{message}");
}

/// A message that asks users to report a bug to the developer does not help them.
#[test]
fn the_error_of_a_bad_selector_is_written_for_users() {
    for bad in ["x=", "x=<<", "x=:no-such", "x=h1::before", "x=a,,b", "x=a["] {
        let message = run(&["localhost", "--select", bad]).expect_code(2).stderr;
        let css = bad.strip_prefix("x=").unwrap();
        assert!(message.contains(&format!("'{css}' is not a CSS selector")), "{message}");
        assert!(!message.contains("developer"), "{message}");
    }
}

/// Makes sure that no flag is missing in these tests.
#[test]
fn every_flag_is_known_to_these_tests() {
    let help = run(&["--help"]).expect_code(0).stdout;
    let words = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let flags: BTreeSet<&str> = words.filter(|word| word.starts_with("--")).collect();
    let known: BTreeSet<&str> = BAD.iter().map(|(flag, _)| *flag).chain(SWITCHES).collect();
    assert_eq!(flags, known);
}

/// Words of the course, and phrases that say nothing to its users.
#[test]
fn the_help_is_written_for_users_of_the_program() {
    let help = run(&["--help"]).expect_code(0).stdout;
    for word in ["stage", "chapter's", "course", "Tell of", "Who to say", "Say this"] {
        assert!(!help.contains(word), "{word}: {help}");
    }
    for default in ["sitemaps come on top [default: 10]", "report [default: text]"] {
        assert!(help.split_whitespace().collect::<Vec<_>>().join(" ").contains(default), "{help}");
    }
}

#[test]
fn the_manual_and_completions_have_every_flag() {
    // Nothing else may be asked for at the same time, and no URL is needed.
    let generate = |what: &str| program(&["--generate", what]);
    let text = |what: &str| Running::start(generate(what)).wait().expect_code(0).stdout;
    let manual = text("man").replace('\\', "");
    let shells = ["complete-bash", "complete-zsh", "complete-fish"].map(text);
    let flags = BAD.iter().map(|(flag, _)| *flag).chain(SWITCHES);
    for flag in flags.filter(|flag| !["--max-concurrency", "--max-redirects"].contains(flag)) {
        assert!(manual.contains(flag), "{flag}: {manual}");
        for shell in &shells {
            let fish = format!("-l {}", &flag[2..]);
            assert!(shell.contains(flag) || shell.contains(&fish), "{flag}: {shell}");
        }
    }
    assert!(manual.starts_with(".ie") || manual.contains(".TH crawl"), "{manual}");
    for section in ["\"EXIT STATUS\"", "FILES", "ENVIRONMENT", "EXAMPLES"] {
        assert!(manual.contains(&format!("\n.SH {section}\n")), "{section}: {manual}");
    }
    assert!(manual.contains("\n.TP\n.B 130, 143\nstopped by Ctrl-C"), "{manual}");
    for shell in &shells {
        assert!(!shell.contains("for-host") && !shell.contains("proxy-env"), "{shell}");
        assert!(shell.contains("+fragments") && shell.contains("jsonl"), "{shell}");
    }
    run(&["--generate", "man", "localhost"]).expect_code(2);
    for (shell, completions) in ["bash", "zsh", "fish"].iter().zip(&shells) {
        let file = Scratch::with(completions);
        // The shells that are there judge their syntax.
        if let Ok(status) = Command::new(shell).args(["-n", file.as_str()]).status() {
            assert!(status.success(), "{shell}");
        }
    }
}

#[test]
fn the_version_lists_the_features_of_the_build() {
    let version = run(&["-V"]).expect_code(0).stdout;
    let expected =
        format!("crawl {} (features: markdown, redis, select, tls)\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(version, expected);
}

#[test]
fn limits_of_traps_can_be_set() {
    let site = Server::start(|request, reply| match request.path() {
        "/" => {
            reply.page("<a href=/l/l/l>x</a><a href=/1/2/3/4>y</a><a href=/?a>z</a><a href=/?b>")
        }
        _ => reply.page(""),
    })
    .unwrap();
    let skipped = |arguments: &[&str]| {
        let output = run(&[arguments, &["--format", "jsonl", &site.url("/")]].concat());
        let rows = rows(&output.expect_code(0).stdout);
        let is_skipped = |row: &&serde_json::Value| row["outcome"] == "skipped";
        let urls = rows.values().filter(is_skipped).map(|row| row["url"].as_str().unwrap());
        urls.map(|url| url.replace(&site.url(""), "")).collect::<Vec<_>>()
    };
    assert_eq!(skipped(&[]), ["/l/l/l"]);
    assert_eq!(skipped(&["--max-repeats", "4"]), [""; 0]);
    assert_eq!(skipped(&["--max-path-segments", "3"]), ["/1/2/3/4", "/l/l/l"]);
    assert_eq!(skipped(&["--max-pages-per-pattern", "1"]), ["/?b", "/l/l/l"]);
}

#[test]
fn the_help_has_groups_and_exit_codes() {
    let help = run(&["--help"]).expect_code(0).stdout;
    let mut rest = &*help;
    for heading in [
        "Usage: crawl ",
        "Scope:",
        "Speed and politeness:",
        "Request:",
        "Output:",
        "State:",
        "Many machines:",
        "Exit codes:",
    ] {
        let found = rest.split_once(&format!("\n{heading}"));
        rest = found.unwrap_or_else(|| panic!("{heading}: {help}")).1;
    }
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
}
