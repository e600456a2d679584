//! The output of the example.

use test_support::examples as common;

#[test]
fn side_by_side_prints_the_same_rows_for_every_runtime() {
    let expected = r#"
stage 3  352 rows, 354 requests, keep-alive, at most 10 at a time, agrees
tokio    352 rows, 352 requests, a connection each, at most 10 at a time, agrees
smol     352 rows, 352 requests, a connection each, at most 10 at a time, agrees
"#;
    assert_eq!(common::example("side_by_side", &[]), expected.trim_start());
}
