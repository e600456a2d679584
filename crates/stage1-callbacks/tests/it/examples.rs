//! The output of the examples.

use test_support::examples as common;

/// An optimised build merges functions, so its stack has fewer of them.
#[test]
#[cfg_attr(not(debug_assertions), ignore = "optimised builds have fewer frames")]
fn stack_ripping() {
    let expected = r#"
begun in:
  main
  crawl
  fetch
failed in:
  main
  run
  read_response
  parse_links
error: a quote is never closed
"#;
    assert_eq!(common::example("stack_ripping", &[]), expected.trim_start());
}

#[test]
fn countdowns() {
    let expected = r#"
slow has begun
quick has begun
nothing has happened yet
1s  quick: 3
2s  quick: 2
3s  slow: 2
3s  quick: 1
    quick is freed
6s  slow: 1
    slow is freed
5 callbacks
"#;
    assert_eq!(common::example("countdowns", &[]), expected.trim_start());
}

#[test]
fn chapter_fetcher() {
    let output = common::example("chapter_fetcher", &[]);
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    let expected = ["/ read to its end", "/1 read to its end", "/2 read to its end"];
    assert_eq!(lines, expected);
}
