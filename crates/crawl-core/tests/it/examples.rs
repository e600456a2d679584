//! Test of the example: it prints the expected text, except for the times.

use test_support::examples as common;

#[test]
fn deep_pages() {
    let (lines, _) = common::run("deep_pages");
    let is_no_time = |word: &&str| word.parse::<u32>().is_err() || *word == "2000";
    let lines: Vec<String> = lines
        .lines()
        .map(|line| line.split_whitespace().filter(is_no_time).collect::<Vec<_>>().join(" "))
        .collect();
    let in_time = ["elements deep: [\"/found\"]", "as it goes by us", "with a tree us"];
    let too_deep = "with a tree nesting: elements lie more than 2000 deep in each other";
    let expected = [in_time, in_time, in_time, [in_time[0], in_time[1], too_deep]].concat();
    assert_eq!(lines, expected);
}
