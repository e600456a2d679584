//! The output of the examples.

use test_support::examples as common;

/// The costs depend on the system, so the numbers are only checked roughly.
#[test]
fn thread_cost() {
    let output = common::example("thread_cost", &[]);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 5, "{output}");
    assert_eq!(lines[0], "1000 threads that wait, for each of them:");
    let first_number =
        |line: &str| -> Option<f64> { line.split_whitespace().find_map(|word| word.parse().ok()) };
    assert!(first_number(lines[4]).unwrap() > 0.0, "{output}");
    if cfg!(target_os = "linux") {
        let [reserved, used] = [lines[1], lines[2]].map(|line| first_number(line).unwrap());
        assert!(reserved > used && used > 4.0, "{output}");
    }
}
