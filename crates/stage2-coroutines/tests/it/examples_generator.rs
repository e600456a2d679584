//! The examples of generators, drivers and tracebacks, compared with their
//! expected output.

use test_support::examples as common;

/// Compares the output of an example with `expected`, which begins with an empty
/// line.
#[track_caller]
fn check(name: &str, markers: &[&str], expected: &str) {
    assert_eq!(common::example(name, markers), expected.trim_start_matches('\n'));
}

#[test]
fn generator() {
    let expected = r#"
written by hand:
  made, and nothing of it has run
  it stands at Some(-1), in Start
  resume(None)
  -> Yielded(1)
  it stands at Some(1), in First
  resume(Some("hello"))
      the first yield gave hello
  -> Yielded(2)
  it stands at Some(2), in Second { result: Some("hello") }
  resume(Some("goodbye"))
      the second yield gave goodbye
  -> Complete("done")
  it stands at None
written by the compiler:
  made, and nothing of it has run
  it stands at Some(-1), where the compiler knows
  resume(None)
  -> Yielded(1)
  it stands at Some(1), where the compiler knows
  resume(Some("hello"))
      the first yield gave hello
  -> Yielded(2)
  it stands at Some(2), where the compiler knows
  resume(Some("goodbye"))
      the second yield gave goodbye
  -> Complete("done")
  it stands at None
their frames:
  by hand, bytes: N
  by the compiler, bytes: N
two generators of one function, each with a frame of its own:
      the first yield gave one
      the first yield gave other
  Second { result: Some("one") } and Second { result: Some("other") }
  a new owner, the same place: true
thrown into at the first yield:
  throw("malformed page")
  raises: malformed page
  it stands at None
sent something before there is a yield:
  raises: a generator that has not begun can only be sent nothing
  it stands at Some(-1)
closed at the second yield, by dropping it:
      the first yield gave a local variable
  drop
      a local variable is dropped
  closed
"#;
    check("generator", &["bytes: "], expected);
}

#[test]
fn delegation() {
    let expected = r#"
caller_fn delegates to gen_fn:
  the outer one stands at Some(-1), and there is no inner one
  resume(None)
  -> Yielded(1)
  the outer one stands at Some(1), the inner one at Some(1)
  resume(Some("hello"))
      the first yield gave hello
  -> Yielded(2)
  the outer one stands at Some(1), the inner one at Some(2)
  resume(Some("goodbye"))
      the second yield gave goodbye
      gen_fn returned done
  -> Complete(())
  the outer one stands at None, and there is no inner one
the same with .await:
  resume(None)
  -> Yielded(1)
  resume(Some("hello"))
      the first yield gave hello
  -> Yielded(2)
  resume(Some("goodbye"))
      the second yield gave goodbye
      gen_fn returned done
  -> Complete(())
thrown into, caller_fn has no try around it:
  throw("malformed page")
  raises: malformed page
  the outer one stands at None, and there is no inner one
thrown into, careful_fn has:
  throw("malformed page")
      caught: malformed page
  -> Complete("all the same")
"#;
    check("delegation", &[], expected);
}

#[test]
fn naive_driver() {
    let expected = r#"
                      the naive driver               the event loop
yield three times     4 resumes, done                4 resumes, done
sleep for 20 ms       a great many resumes, done     2 resumes, done
be called in a second a great many resumes, given up 2 resumes, done
make a connection     a great many resumes, given up 2 resumes, done

slow_operation, resumed twice:
  Pending
  Pending
  its future is done: false
the same, on the loop:
  a second is over, and 1s have passed

the same, the inner future resolved by hand:
  Pending
  Ready(())
  a second is over, but 0ns have passed
"#;
    check("naive_driver", &[], expected);
}

#[test]
fn tracebacks() {
    let expected = r#"
/ has links to ["/nothing", "/malformed"]
/nothing is skipped: there is no page
traceback, innermost last:
  crates/stage2-coroutines/examples/tracebacks.rs:N, in main
  crates/stage2-coroutines/examples/tracebacks.rs:N, in crawl
  crates/stage2-coroutines/examples/tracebacks.rs:N, in fetch
  crates/stage2-coroutines/examples/tracebacks.rs:N, in read_page
  crates/stage2-coroutines/examples/tracebacks.rs:N, in parse_links
a quote is never closed
"#;
    check("tracebacks", &[".rs:"], expected);
}
