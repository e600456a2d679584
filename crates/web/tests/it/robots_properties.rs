//! Property tests of the robots.txt parser: any file can be parsed, in bounded time, and
//! a much simpler matcher agrees about its rules.

use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use url::Url;
use web::robots::{MAX_BYTES, Robots};

fn url(path: &str) -> Url {
    Url::parse(&format!("http://example.com{path}")).unwrap()
}

/// Returns true if `pattern` matches `path`, by trying all possibilities.
fn matches_by_backtracking(pattern: &[u8], path: &[u8]) -> bool {
    match pattern {
        [] => true,
        [b'$'] => path.is_empty(),
        [b'*', rest @ ..] => (0..=path.len()).any(|at| matches_by_backtracking(rest, &path[at..])),
        [byte, rest @ ..] => {
            path.first() == Some(byte) && matches_by_backtracking(rest, &path[1..])
        }
    }
}

fn lines() -> impl Strategy<Value = Vec<String>> {
    let agent =
        select(&["user-agent: *", "user-agent: bot", "User-Agent: other/2", "useragent bot"])
            .prop_map(str::to_owned);
    let rule = (select(&["allow", "Disallow"]), select(&[": ", ":", " "]), "[/*][ab/*?$%2F]{0,6}")
        .prop_map(|(key, colon, path)| format!("{key}{colon}{path}"));
    let other = select(&["", "# x", "crawl-delay: 2", "sitemap: http://x/", "host: x", "nonsense"])
        .prop_map(str::to_owned);
    vec(prop_oneof![2 => agent, 4 => rule, 1 => other], 0..20)
}

proptest! {
    #[test]
    fn any_bytes_can_be_parsed(file in vec(any::<u8>(), 0..400), path in "/[ -~]{0,30}") {
        let robots = Robots::parse(&file, "bot");
        robots.allows(&url(&path));
    }

    #[test]
    fn anything_similar_to_a_file_can_be_parsed(
        file in "([uU]ser-agent:? ?|[Dd]isallow|: |/|\\*|bot|%|\n|\r|\\$|[ -~]){0,60}",
        path in "/[ab%?*$]{0,12}",
    ) {
        let robots = Robots::parse(file.as_bytes(), "bot");
        robots.allows(&url(&path));
    }

    #[test]
    fn all_line_ends_are_equivalent(lines in lines(), path in "/[ab/?$]{0,8}") {
        let read = |end: &str| Robots::parse(lines.join(end).as_bytes(), "bot");
        let robots = read("\n");
        for end in ["\r", "\r\n", "\n\n", " \t\n", "# x\r"] {
            prop_assert_eq!(&read(end), &robots);
            prop_assert_eq!(read(end).allows(&url(&path)), robots.allows(&url(&path)));
        }
    }

    #[test]
    fn without_a_disallow_rule_everything_is_allowed(
        lines in lines(),
        path in "/[ab/?$]{0,8}",
    ) {
        let lines: Vec<_> = lines.into_iter().filter(|line| !line.starts_with('D')).collect();
        let robots = Robots::parse(lines.join("\n").as_bytes(), "bot");
        prop_assert!(robots.allows(&url(&path)));
    }

    #[test]
    fn a_simple_matcher_agrees(
        rules in vec((any::<bool>(), "[/*][ab/*]{0,6}[$]?"), 0..12),
        path in "/[ab/]{0,10}",
    ) {
        let mut file = String::from("user-agent: bot\n");
        for (allows, pattern) in &rules {
            let key = if *allows { "allow" } else { "disallow" };
            file.extend([key, ": ", pattern, "\n"]);
        }
        let decisive = rules
            .iter()
            .filter(|(_, pattern)| matches_by_backtracking(pattern.as_bytes(), path.as_bytes()))
            .max_by_key(|(allows, pattern)| (pattern.len(), *allows));
        let expected = decisive.is_none_or(|(allows, _)| *allows);
        prop_assert_eq!(Robots::parse(file.as_bytes(), "bot").allows(&url(&path)), expected, "{}", file);
    }

    #[test]
    fn percent_encoding_of_a_path_makes_no_difference(
        path in "[a-z~é/ツ_-]{0,8}",
        encoded in vec(any::<bool>(), 24),
    ) {
        let mut spelled = String::from("/");
        for (byte, is_encoded) in path.bytes().zip(encoded) {
            if byte != b'/' && (is_encoded || !byte.is_ascii()) {
                spelled += &format!("%{byte:02x}");
            } else {
                spelled.push(char::from(byte));
            }
        }
        let path = format!("/{path}");
        for (pattern, path) in [(&path, &spelled), (&spelled, &path)] {
            let file = format!("user-agent: *\ndisallow: {pattern}$");
            prop_assert!(!Robots::parse(file.as_bytes(), "bot").allows(&url(path)), "{}", file);
        }
    }
}

/// Returns a file of the maximum size, with lines from `line`.
fn full_file(line: impl Fn(usize) -> String) -> String {
    let mut file = String::from("user-agent: *\n");
    for number in 0.. {
        let line = line(number);
        if file.len() + line.len() >= MAX_BYTES {
            break;
        }
        file += &line;
        file.push('\n');
    }
    file
}

#[test]
fn the_worst_files_take_bounded_time() {
    let files = [
        ("one long rule", full_file(|_| format!("disallow: /{}", "*a".repeat(250_000)))),
        ("many wildcards", full_file(|n| format!("disallow: /{}{n}x", "*a".repeat(40)))),
        ("near misses", full_file(|n| format!("disallow: /*{}{n}", "ab".repeat(20)))),
        ("short rules", full_file(|n| format!("disallow:*{n}!"))),
        ("stars", full_file(|_| format!("disallow: /{}b", "*".repeat(500_000)))),
        ("user agents", full_file(|n| format!("user-agent: {n}"))),
        ("empty lines", full_file(|_| String::new())),
        ("sitemaps", full_file(|n| format!("sitemap:http:{n}"))),
        ("encoded", full_file(|n| format!("disallow: /{n}{}", "%41".repeat(50)))),
        ("digits", full_file(|_| format!("crawl-delay: {}", "9".repeat(500_000)))),
    ];
    let paths = ["a", "ab", "aaab", "%41", "*"].map(|text| format!("/{}", text.repeat(4_000)));
    // Even in a debug build on a busy machine, each takes well under a second.
    let limit = Duration::from_secs(5);
    for (name, file) in &files {
        let begun = Instant::now();
        let robots = Robots::parse(file.as_bytes(), "bot");
        assert!(begun.elapsed() < limit, "{name}: read in {:?}", begun.elapsed());
        for path in &paths {
            let begun = Instant::now();
            robots.allows(&url(path));
            assert!(begun.elapsed() < limit, "{name}: answered in {:?}", begun.elapsed());
        }
    }
}

#[test]
fn rules_that_are_too_expensive_forbid_the_url() {
    // None of these rules matches; with fewer of them the URL is allowed.
    let rules = |count: usize| {
        let rules: String = (0..count).map(|n| format!("disallow: /*{n}!\n")).collect();
        Robots::parse(format!("user-agent: *\nallow: /\n{rules}").as_bytes(), "bot")
    };
    let long = url(&format!("/{}", "a".repeat(8_000)));
    assert!(rules(500).allows(&long));
    assert!(!rules(5_000).allows(&long));
    // A URL of usual length is allowed with any number of rules.
    assert!(rules(25_000).allows(&url("/a/page/as/most/pages/are?with=a&query=too")));
    // Rules without wildcards cost nothing.
    let plain: String = (0..40_000).map(|n| format!("disallow:/{n}!\n")).collect();
    let plain = Robots::parse(format!("user-agent: *\n{plain}").as_bytes(), "bot");
    assert!(plain.allows(&long));
    assert!(!plain.allows(&url("/20000!")));
}
