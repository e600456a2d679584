//! The examples say what they are expected to say.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../../stage2-coroutines/tests/common/mod.rs"]
mod common;

/// An optimised build merges functions, and then a stack has fewer of them.
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
  call
  read_response
  parse_links
error: a quote is never closed
"#;
    assert_eq!(common::example("stack_ripping", &[]), expected.trim_start());
}
