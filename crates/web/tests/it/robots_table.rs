//! Tests of the robots.txt parser, file by file: the examples of RFC 9309, and the
//! behaviour that Google documents for its own robots.

use std::time::Duration;

use url::Url;
use web::robots::{MAX_BYTES, MAX_SITEMAPS, Robots, product_token};

fn url(path: &str) -> Url {
    Url::parse("http://example.com").unwrap().join(path).unwrap()
}

/// Checks which paths `robot` may visit, and which it may not.
#[track_caller]
fn assert_rules(file: &str, robot: &str, allowed: &[&str], forbidden: &[&str]) {
    let robots = Robots::parse(file.as_bytes(), robot);
    for path in allowed {
        assert!(robots.allows(&url(path)), "{path} is forbidden to {robot} by {file:?}");
    }
    for path in forbidden {
        assert!(!robots.allows(&url(path)), "{path} is allowed to {robot} by {file:?}");
    }
}

/// Checks which paths match the path of a rule, and which do not.
#[track_caller]
fn assert_matches(pattern: &str, matching: &[&str], others: &[&str]) {
    let forbidding = format!("user-agent: *\ndisallow: {pattern}");
    assert_rules(&forbidding, "bot", others, matching);
    let allowing = format!("user-agent: *\ndisallow: /\nallow: {pattern}");
    assert_rules(&allowing, "bot", matching, others);
}

#[test]
fn the_simple_example_of_rfc_9309_is_followed() {
    let file = "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n\
        User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\n\
        User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\n\
        User-Agent: quxbot\n\nEOF\n";
    assert_rules(
        file,
        "anybot",
        &["/", "/publications/", "/publications/x.html", "/x.gif?", "/x.gift", "/example"],
        &["/x.gif", "/example/", "/example/page.html", "/a/b/c.gif"],
    );
    // The path of a picture under /publications/ is longer than "*.gif$".
    assert_rules(file, "anybot", &["/publications/x.gif"], &[]);
    assert_rules(
        file,
        "foobot",
        &["/example/page.html", "/example/page.html?q", "/example/allowed.gif"],
        &["/", "/example/", "/publications/", "/x.gif"],
    );
    for robot in ["barbot", "bazbot"] {
        assert_rules(file, robot, &["/", "/example/", "/x.gif"], &["/example/page.html"]);
    }
    assert_rules(file, "quxbot", &["/", "/example/page.html", "/x.gif"], &[]);
}

#[test]
fn the_longest_match_decides_as_in_rfc_9309() {
    let file =
        "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
    assert_rules(
        file,
        "foobot",
        &["/example/page/", "/example/page/x.gif", "/example/page/disallow.gif"],
        &["/example/page/disallowed.gif"],
    );
}

#[test]
fn groups_are_combined_as_in_rfc_9309() {
    let merged = "user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\n\
        user-agent: ExampleBot\ndisallow: /baz\n";
    assert_rules(merged, "ExampleBot", &["/", "/qux"], &["/foo", "/bar", "/baz"]);
    let apart = "user-agent: *\ndisallow: /foo\ndisallow: /bar\n\n\
        user-agent: BazBot\ndisallow: /baz\n";
    assert_rules(apart, "ExampleBot", &["/baz"], &["/foo", "/bar"]);
    assert_rules(apart, "BazBot", &["/foo", "/bar"], &["/baz"]);
    assert_rules("user-agent: BazBot\ndisallow: /\n", "ExampleBot", &["/"], &[]);
}

#[test]
fn percent_encoding_is_compared_as_in_rfc_9309() {
    for (pattern, path) in [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
        ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https://foo.bar"),
        ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
        ("/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https://foo.bar"),
        ("/foo/bar?baz=https%3a%2f%2ffoo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
        ("/foo/bar/\u{30c4}", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/\u{30c4}"),
        ("/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
        ("/foo/bar/baz", "/foo/bar/%62%61%7a"),
        // Section 2.2.3.
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html"),
        ("/path/foo-%24", "/path/foo-$"),
    ] {
        assert_matches(pattern, &[path], &["/", "/foo/bar", "/path/file-with-a-b.html"]);
    }
}

#[test]
fn every_octet_has_one_normalized_form() {
    // Browsers encode some characters that the author of a rule did not encode.
    assert_matches("/a b", &["/a b", "/a%20b"], &["/a", "/a+b"]);
    assert_matches("/a?b='c'", &["/a?b='c'", "/a?b=%27c%27"], &["/a?b=c"]);
    assert_matches("/it's", &["/it's", "/it%27s"], &[]);
    assert_matches("/{a}|<b>", &["/{a}|<b>", "/%7Ba%7D%7C%3Cb%3E"], &[]);
    assert_matches("/100%", &["/100%", "/100%25", "/100%?x"], &["/100"]);
    // A delimiter is not its encoding: the two URLs are not the same.
    assert_matches("/a/b", &["/a/b"], &["/a%2Fb"]);
    assert_matches("/*%3F", &["/a%3Fb", "/a%3fb"], &["/a?b", "/a"]);
    assert_matches("/*?*%26", &["/a?b%26c"], &["/a?b&c"]);
    // Without a question mark, a rule is not compared as a query.
    assert_matches("/*url=http:", &["/?url=http://x"], &["/?url=http%3A//x"]);
    assert_matches("/*?url=http:", &["/a?url=http://x", "/a?url=http%3A//x"], &["/a?url=ftp:"]);
}

#[test]
fn paths_match_as_google_documents() {
    let fish = ["/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fishheads/yummy.html"];
    let no_fish = ["/Fish.asp", "/catfish", "/?id=fish", "/desert/fish"];
    assert_matches("/", &["/", "/x", "/?x"], &[]);
    assert_matches("/*", &["/", "/x", "/?x"], &[]);
    assert_matches("/$", &["/"], &["/x", "/?x"]);
    assert_matches("/fish", &fish, &no_fish);
    assert_matches("/fish", &["/fish.php?id=anything"], &[]);
    assert_matches("/fish*", &fish, &no_fish);
    assert_matches("/fish*$", &fish, &no_fish);
    assert_matches(
        "/fish/",
        &["/fish/", "/fish/?salmon", "/fish/?id=anything", "/fish/salmon.htm"],
        &["/fish", "/fish.html", "/animals/fish/", "/Fish/Salmon.asp"],
    );
    assert_matches(
        "/*.php",
        &[
            "/index.php",
            "/filename.php",
            "/folder/filename.php?parameters",
            "//folder/any.php.file.html",
            "/filename.php/",
            "/index?f=filename.php/",
        ],
        &["/", "/windows.PHP", "/php/", "/index?php"],
    );
    assert_matches(
        "/*.php$",
        &["/filename.php", "/folder/filename.php"],
        &["/filename.php?parameters", "/filename.php/", "/filename.php5", "/windows.PHP", "/php/"],
    );
    assert_matches("/fish*.php", &["/fish.php", "/fishheads/catfish.php?p"], &["/Fish.PHP"]);
    assert_matches("*.gif$", &["/x.gif", "/a/x.gif"], &["/x.gif?", "/gif"]);
}

#[test]
fn wildcards_match_in_unusual_positions() {
    assert_matches("/a$b", &["/a$b", "/a$bc", "/a%24b"], &["/a", "/ab"]);
    assert_matches("/a$$", &["/a$"], &["/a", "/a$b"]);
    assert_matches("/**a", &["/a", "/xa", "/xab"], &["/", "/b"]);
    assert_matches("/*ab*ab$", &["/abab", "/ab-ab", "/xabxabxab"], &["/ab", "/aba", "/abab/"]);
    assert_matches("/*aba*ba$", &["/ababa", "/aba-ba"], &["/abab", "/aba"]);
    assert_matches("/foo/*/qux", &["/foo/bar/qux", "/foo//qux", "/foo/a/b/qux"], &["/foo/qux"]);
    assert_matches("/a*", &["/a*", "/ab"], &["/b*"]);
    assert_matches("*", &["/", "/x"], &[]);
    // These patterns match nothing, because every path begins with a slash.
    for pattern in ["", "$", "private/", "http://example.com/", "%2Fx", "?x", " "] {
        assert_matches(pattern, &[], &["/", "/private/", "/x", "/?x"]);
    }
}

#[test]
fn rules_have_the_precedence_that_google_documents() {
    for (allow, disallow, path, is_allowed) in [
        ("/p", "/", "/page", true),
        ("/folder", "/folder", "/folder/page", true),
        ("/page", "/*.htm", "/page.htm", false),
        ("/page", "/*.ph", "/page.php5", true),
        ("/$", "/", "/", true),
        ("/$", "/", "/page.htm", false),
        ("/x/", "/x/page.html", "/x/page.html", false),
        ("/x/page.html", "/x/", "/x/page.html", true),
        ("/x/page.html", "/x/", "/x/", false),
        ("/x/page.html", "/x/page.html", "/x/page.html", true),
        ("/x/page.", "/*.html", "/x/page.html", true),
        ("/x/page.", "/*.html", "/x/y.html", false),
        ("/x/", "/x", "/x", false),
        ("/x/", "/x", "/x/", true),
        ("", "", "/x", true),
        ("/", "/", "/x", true),
    ] {
        let (allowed, forbidden) =
            if is_allowed { (vec![path], vec![]) } else { (vec![], vec![path]) };
        let file = format!("user-agent: *\nallow: {allow}\ndisallow: {disallow}");
        assert_rules(&file, "bot", &allowed, &forbidden);
        let file = format!("user-agent: *\ndisallow: {disallow}\nallow: {allow}");
        assert_rules(&file, "bot", &allowed, &forbidden);
    }
}

#[test]
fn lines_are_grouped_as_google_documents() {
    let file = "allow: /foo/bar/\n\nuser-agent: FooBot\ndisallow: /\nallow: /x/\n\
        user-agent: BarBot\ndisallow: /\nallow: /y/\n\n\nallow: /w/\nuser-agent: BazBot\n\n\
        user-agent: FooBot\nallow: /z/\ndisallow: /\n";
    assert_rules(file, "FooBot", &["/x/b", "/z/d"], &["/y/c", "/w/a", "/foo/bar/"]);
    assert_rules(file, "BarBot", &["/y/c", "/w/a"], &["/z/d", "/x/b", "/foo/bar/"]);
    assert_rules(file, "BazBot", &["/z/d"], &["/x/b", "/foo/bar/"]);
    assert_rules(file, "QuxBot", &["/", "/x/b", "/foo/bar/"], &[]);
}

#[test]
fn a_group_ends_at_a_user_agent_line_after_a_rule() {
    for between in
        ["\n\n", "\n# comment\n", "\nsitemap: http://x/\n", "\ncrawl-delay: 1\n", "\nhost: x\n"]
    {
        let file = format!(
            "user-agent: a{between}user-agent: b{between}disallow: /x\n{between}allow: /x/y"
        );
        assert_rules(&file, "a", &["/", "/x/y"], &["/x"]);
        assert_rules(&file, "b", &["/", "/x/y"], &["/x"]);
        assert_rules(&file, "c", &["/", "/x"], &[]);
    }
    // A rule without a path is a rule.
    assert_rules("user-agent: a\ndisallow:\nuser-agent: b\ndisallow: /", "a", &["/"], &[]);
}

#[test]
fn a_group_is_for_the_robots_that_it_names() {
    for agent in
        ["FooBot", "foobot", "FOOBOT", "FooBot/1.0", "FooBot Images", "FooBot*", "FooBot # x"]
    {
        assert_rules(&format!("user-agent: {agent}\ndisallow: /"), "FooBot", &[], &["/x"]);
    }
    for agent in
        ["Foo", "FooBots", "FooBot2", "FooBot-News", "Foo Bot", "My FooBot", "", "x*", "**"]
    {
        assert_rules(&format!("user-agent: {agent}\ndisallow: /"), "FooBot", &["/x"], &[]);
    }
    for wildcard in ["*", " * ", "* anybody", "*\t"] {
        assert_rules(&format!("user-agent:{wildcard}\ndisallow: /"), "FooBot", &[], &["/x"]);
    }
    let empty_group = "user-agent: *\ndisallow: /\nuser-agent: FooBot\n";
    assert_rules(empty_group, "FooBot", &["/x"], &[]);
    assert_rules(empty_group, "", &[], &["/x"]);
    assert_rules("user-agent: *\nuser-agent: FooBot\ndisallow: /", "BarBot", &[], &["/x"]);

    for (user_agent, token) in [
        ("crawl/0.1 (+http://example.com/bot)", "crawl"),
        ("My_Crawl-er (x)", "My_Crawl-er"),
        ("MJ12bot/v1.4", "MJ12bot"),
        ("Bot", "Bot"),
        (" Bot", ""),
        ("\u{30c4}", ""),
        ("", ""),
    ] {
        assert_eq!(product_token(user_agent), token);
    }
}

#[test]
fn lines_may_be_written_in_many_ways() {
    for line in [
        "disallow: /x",
        "DISALLOW:/x",
        "DisAllow : /x",
        " \tdisallow\t:\t/x\t",
        "disallow: /x#y",
        "disallow: /x # y",
        "disallow /x",
        "disallow\t/x",
        "disallow /x:y:z",
        "dissallow: /x",
        "disalow: /x",
        "dissalow: /x",
        "diasllow: /x",
        "disallaw: /x",
    ] {
        let path = if line.contains("x:y") { "/x:y:z" } else { "/x" };
        for agent in
            ["user-agent: *", "User-Agent:*", "useragent: *", "user agent: *", "user-agent *"]
        {
            assert_rules(&format!("{agent}\n{line}\n"), "bot", &["/", "/y"], &[path]);
            assert_rules(&format!("\u{feff}{agent}\r{line}\r"), "bot", &["/", "/y"], &[path]);
            assert_rules(&format!("{agent}\r\n\r\n{line}"), "bot", &["/", "/y"], &[path]);
        }
    }
    for line in [
        "# disallow: /x",
        "disallow",
        "disallow/x",
        "disallow /x for everybody",
        "disallowed: /x",
        "no disallow: /x",
        "noindex: /x",
        ": /x",
        "disallow: \0/x",
        "disallow: # /x",
    ] {
        assert_rules(&format!("user-agent: *\n{line}"), "bot", &["/", "/x"], &[]);
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_accepted() {
    let robots = Robots::parse(
        b"\xff\xfe\0\nuser-agent: *\xe9\nuser-agent: *\ndisallow: /\xe9t\xe9\n",
        "bot",
    );
    assert!(!robots.allows(&url("/%E9t%e9")));
    assert!(robots.allows(&url("/\u{e9}t\u{e9}")));
}

#[test]
fn robots_txt_itself_is_never_forbidden() {
    let robots = Robots::parse(b"user-agent: *\ndisallow: /", "bot");
    assert!(robots.allows(&url("/robots.txt")) && robots.allows(&url("/robots.txt?x")));
    assert!(Robots::unreachable().allows(&url("/robots.txt")));
    assert!(!robots.allows(&url("/robots.txt2")) && !robots.allows(&url("/x/robots.txt")));
}

#[test]
fn the_status_decides_about_the_rules() {
    let rules = b"user-agent: *\ndisallow: /x";
    for (status, root, x) in [
        (200, true, false),
        (204, true, false),
        (301, true, true),
        (304, true, true),
        (401, true, true),
        (403, true, true),
        (404, true, true),
        (410, true, true),
        (429, false, false),
        (500, false, false),
        (503, false, false),
        (599, false, false),
        (101, false, false),
        (999, false, false),
    ] {
        let robots = Robots::of_response(status, rules, "bot");
        assert_eq!(robots.allows(&url("/")), root, "{status}");
        assert_eq!(robots.allows(&url("/x")), x, "{status}");
    }
    assert_eq!(Robots::of_response(404, rules, "bot"), Robots::unrestricted());
    assert_eq!(Robots::of_response(200, b"", "bot"), Robots::unrestricted());
    assert_eq!(Robots::of_response(500, rules, "bot"), Robots::unreachable());
}

#[test]
fn crawl_delays_are_parsed() {
    let delay = |file: &str| Robots::parse(file.as_bytes(), "bot").crawl_delay();
    for (value, seconds) in [
        ("10", Some(10.0)),
        ("0.5", Some(0.5)),
        (".5", Some(0.5)),
        ("0", Some(0.0)),
        (" 2 # two", Some(2.0)),
        ("", None),
        ("-1", None),
        ("NaN", None),
        ("ten", None),
        ("10s", None),
        ("0,5", None),
    ] {
        let file = format!("user-agent: *\ncrawl-delay: {value}\ndisallow: /x");
        assert_eq!(delay(&file), seconds.map(Duration::from_secs_f64), "{value:?}");
    }
    for huge in ["inf", "1e308", "1e400", &"9".repeat(400)] {
        let file = format!("user-agent: *\ncrawl-delay: {huge}");
        assert_eq!(delay(&file), Some(Duration::MAX), "{huge}");
    }
    assert_eq!(delay("crawl-delay: 1\nuser-agent: other\ncrawl-delay: 2"), None);
    let groups = "user-agent: *\ncrawl-delay: 9\nuser-agent: bot\ncrawl-delay: 2\ndisallow: /x\n\
        user-agent: bot\ncrawl-delay: 3\ncrawl-delay: 1\ncrawl-delay: never";
    assert_eq!(delay(groups), Some(Duration::from_secs(3)));
    assert_eq!(Robots::unreachable().crawl_delay(), None);
}

#[test]
fn sitemaps_do_not_belong_to_a_group() {
    let file = b"sitemap: http://a.example/1.xml\nuser-agent: other\nSiteMap : https://b.example/2\n\
        disallow: /\nsite-map: http://a.example/3.xml#x\nsitemap: /4.xml\nsitemap: ftp://a.example/5\n\
        sitemap:\nsitemap: http://\nuser-agent: bot\nsitemap http://a.example/6";
    let robots = Robots::parse(file, "bot");
    let sitemaps: Vec<_> = robots.sitemaps().iter().map(Url::as_str).collect();
    let expected = [
        "http://a.example/1.xml",
        "https://b.example/2",
        "http://a.example/3.xml",
        "http://a.example/6",
    ];
    assert_eq!(sitemaps, expected);

    let many = "sitemap: http://a.example/\n".repeat(2 * MAX_SITEMAPS);
    assert_eq!(Robots::parse(many.as_bytes(), "bot").sitemaps().len(), MAX_SITEMAPS);
    let long = format!("sitemap: http://a.example/{}", "x".repeat(3_000));
    assert!(Robots::parse(long.as_bytes(), "bot").sitemaps().is_empty());
}

/// Returns a file that begins with `start`, followed by comments up to `length`.
fn padded(start: &str, length: usize) -> String {
    let mut file = start.to_owned();
    while file.len() < length - 2 {
        file.push('#');
    }
    file.push('\n');
    file.extend(std::iter::repeat_n('\n', length - file.len()));
    file
}

#[test]
fn lines_beyond_the_limit_are_ignored() {
    let head = "user-agent: *\ndisallow: /a\n";
    let rule = "disallow: /b/c";
    // The file ends exactly at the limit, with or without a line end behind it.
    let fits = padded(head, MAX_BYTES - rule.len()) + rule;
    assert_eq!(fits.len(), MAX_BYTES);
    for end in ["", "\n", "\r\n", "\ndisallow: /d"] {
        assert_rules(&format!("{fits}{end}"), "bot", &["/", "/b", "/d"], &["/a", "/b/c"]);
    }
    // A truncated line would forbid more, or less, than the complete one.
    let too_long = padded(head, MAX_BYTES - rule.len() + 1) + rule;
    for end in ["", "\n", "d"] {
        assert_rules(&format!("{too_long}{end}"), "bot", &["/", "/b", "/b/c"], &["/a"]);
    }
    let one_line = format!("user-agent: *{}\ndisallow: /", " ".repeat(MAX_BYTES));
    assert_rules(&one_line, "bot", &["/"], &[]);
}

#[test]
fn sitemaps_count_in_the_memory_of_the_rules() {
    let path = "x".repeat(1000);
    let line = |n| format!("Sitemap: http://example.com/{n}/{path}\n");
    let robots = Robots::parse((0..MAX_SITEMAPS).map(line).collect::<String>().as_bytes(), "bot");
    assert_eq!(robots.sitemaps().len(), MAX_SITEMAPS);
    assert!(robots.memory() > MAX_SITEMAPS * 1000, "{}", robots.memory());
    assert_eq!(Robots::unrestricted().memory(), 0);
}
