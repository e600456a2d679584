//! Test of the example: it prints the expected text, except for the times.

use test_support::examples as common;

#[test]
fn deep_pages() {
    let (lines, _) = common::run("deep_pages");
    let without_time = |line: &str| {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        if words.pop_if(|word| *word == "us").is_some() {
            words.pop().unwrap().parse::<u32>().unwrap();
        }
        words.join(" ")
    };
    let lines: Vec<String> = lines.lines().map(without_time).collect();
    let too_deep = "with a tree nested too deeply: elements are nested more than 2000 deep";
    let depths = [250, 500, 1000, 20_000];
    let expected = depths.map(|depth| {
        let tree = if depth > 2000 { too_deep } else { "with a tree" };
        [format!("{depth} elements deep: [\"/found\"]"), "as it goes by".into(), tree.into()]
    });
    assert_eq!(lines, expected.concat());
}
