//! Every flag of the command line, and the errors for bad values.

use std::collections::BTreeSet;

use crate::program::run;

/// The flags with a value, each with bad values, which the message must name beside
/// the flag.
const BAD: [(&str, &[&str]); 36] = [
    ("--include", &["(", "[a"]),
    ("--exclude", &["(", "a{2,1}"]),
    ("--max-depth", &["-1", "deep", "4294967296"]),
    ("--max-pages", &["0", "many", "-1"]),
    ("--max-pages-per-host", &["all", "-1", "1.5"]),
    ("--max-wait", &["0", "soon"]),
    ("--max-time", &["0", "soon", "8000h", "-1s"]),
    ("--check", &["pictures", "links,all"]),
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
    ("--cacert", &["/no/such/file", "/dev/null"]),
    ("--format", &["xml"]),
    ("--accept", &["99", "601", "403..200", "x", "200..=", "200-299"]),
    ("--select", &["h1", "=h1", "x=a[", "x=:no-such"]),
    ("--color", &["red"]),
    ("--output", &[]),
    ("--trace", &["trace", "trace.xml"]),
    ("--state", &[]),
    ("--record", &[]),
    ("--replay", &["/no/such/file", "/dev/null"]),
    ("--frontier", &[]),
    ("--crawl", &[]),
    ("--frontier-wait", &["0", "soon"]),
];

/// The flags without a value.
const SWITCHES: [&str; 18] = [
    "--strict",
    "--lenient",
    "--external",
    "--sitemap",
    "--no-robots",
    "--insecure",
    "--deny-private",
    "--broken-only",
    "--no-progress",
    "--verbose",
    "--quiet",
    "--fresh",
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
        (&["--record-secrets"], "--record "),
        (&["--record", "a", "--replay", "b"], "--replay"),
        (&["--record", "a", "--state", "b"], "--state"),
        (&["-o", "/no/such.json", "--trace", "/no/such.json"], "--trace"),
        (&["--select", "title=h1"], "--format"),
        (&["--format", "sitemap", "--broken-only"], "--broken-only"),
        (&["-u", "a:b", "-H", "authorization: x"], "--user"),
        (&["-o", "/no/such/file", "--state", "/no/./such/file"], "--state"),
    ] {
        let output = run(&[&["localhost"], flags].concat()).expect_code(2);
        assert!(output.stderr.contains(named), "{flags:?}");
    }
    // There is nothing to crawl.
    run(&[]).expect_code(2);
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
        assert!(message.contains(&format!("'{css}' is no CSS selector")), "{message}");
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

#[test]
fn the_help_has_groups_and_exit_codes() {
    let help = run(&["--help"]).expect_code(0).stdout;
    let mut rest = &*help;
    for heading in [
        "Usage: crawl ",
        "Scope:",
        "Speed and manners:",
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
