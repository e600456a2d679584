//! The examples that the book runs, compared with their expected output.

use test_support::examples as common;

/// Compares the output of an example with `expected`, which begins with an empty
/// line.
#[track_caller]
fn check(name: &str, markers: &[&str], expected: &str) {
    assert_eq!(common::example(name, markers), expected.trim_start_matches('\n'));
}

/// The expected stack is that of a build without optimisation, which does not
/// merge functions.
#[test]
#[cfg_attr(not(debug_assertions), ignore = "optimised builds have fewer frames")]
fn whole_stack() {
    let expected = r#"
begun in:
  main
  run_until_complete
  run
  run_batch
  step
  poll
  crawl
  fetch
failed in:
  main
  run_until_complete
  run
  run_batch
  step
  poll
  crawl
  fetch
  parse_links
caught in crawl: a quote is never closed
"#;
    check("whole_stack", &[], expected);
}

#[test]
fn sizes() {
    let expected = r#"
one frame:
  nothing to remember         bytes: N
  1024 bytes across an await  bytes: N
  1024 bytes, lent before it  bytes: N
  1024 bytes, gone before it  bytes: N
  1024 bytes, and then 1024   bytes: N
frames within frames:
  delegates to the second     bytes: N
  delegates to it in a box    bytes: N
  recurses, however deep      bytes: N
of this crate:
  connect                     bytes: N
  read, by hand               bytes: N
  read                        bytes: N
  read_all, by hand           bytes: N
  read_all                    bytes: N
"#;
    check("sizes", &["bytes: "], expected);
}

#[test]
fn one_future_walked() {
    let expected = r#"
main: runs the loop
task: awaits the future
    the future is polled
    it says Pending
callback: resolves the future
    the waker is called
callback: done with that: Ok(())
    the future is polled
    it says Ready(Ok("news"))
task: goes on, with Ok("news")
main: 5 steps were taken
"#;
    check("one_future_walked", &[], expected);
}

#[test]
fn who_waits() {
    let expected = r#"
3 tasks
  task sleeper, spawned at crates/stage2-coroutines/examples/who_waits.rs:N:N, sleeping for another 55s at crates/stage2-coroutines/examples/who_waits.rs:N:N for 5.0s
  task successor, spawned at crates/stage2-coroutines/examples/who_waits.rs:N:N, waiting for task sleeper for 5.0s
  task forgotten, spawned at crates/stage2-coroutines/examples/who_waits.rs:N:N, waiting for a future for 5.0s
"#;
    check("who_waits", &[":"], expected);
}

#[test]
fn cancel() {
    let expected = r#"
a task is cancelled:
    the worker begins
    the worker puts out the light
  there was something to cancel: true
  what awaits it gets Err(Cancelled)
a coroutine that is not a task runs out of time:
    the guest begins
    the guest puts out the light
  what gave it the time gets Err(Elapsed)
the handle of a task is dropped:
    the orphan begins
  which changes nothing
    the orphan is done
    the orphan puts out the light
cancelled on the way, careless:
  from [], to []
cancelled on the way, careful:
  from ["a parcel"], to []
a task that awaits a coroutine is cancelled:
    the part begins
    the part puts out the light
a task that awaits another task is cancelled:
    the other begins
    the other is done
    the other puts out the light
"#;
    check("cancel", &[], expected);
}

#[test]
fn combining() {
    let expected = r#"
gather:
  after 3s: ["A", "B", "C"]
gather, and C is cancelled:
  after 0ns: Err(Cancelled)
gather_outcomes, and C is cancelled:
  after 3s: [Ok("A"), Ok("B"), Err(Cancelled)]
wait, FirstCompleted:
  after 1s: "1 done, 2 pending"
wait, AllCompleted, two and a half seconds:
  after 2.5s: "2 done, 1 pending"
as_completed:
  after 1s: "A"
  after 2s: "C"
  after 3s: "B"
wait_for B, two seconds:
  after 2s: Err(TimedOut)
  after 2s: "B is cancelled: true"
wait_for a shield of B, two seconds:
  after 2s: Err(TimedOut)
  after 2s: "B is cancelled: false"
  after 3s: "B"
"#;
    check("combining", &[], expected);
}

#[test]
fn join_select_stream() {
    let expected = r#"
join: ("slow", "fast") after 2s
select: "fast" after 1s
the sum of the stream: 6
told to stop, unfair: after 1000
told to stop, fair: after 3
a new pair in each turn:
  still waiting
  (2, 3)
  still waiting
  (5, 6)
the same pair until it is there:
  still waiting
  (1, 2)
  still waiting
  (3, 4)
  still waiting
  (5, 6)
"#;
    check("join_select_stream", &[], expected);
}

#[test]
fn fairness() {
    let expected = r#"
work_on              a a a a b b b b c c c c
await_what_is_there  a a a a b b b b c c c c
give_way             a b c a b c a b c a b c
"#;
    check("fairness", &[], expected);
}

#[test]
fn ends() {
    let expected = r#"
until something is done:
    tick 1
    tick 2
  42, and 1 task is pending
again:
    tick 3
stopped by a callback:
    tick 4
  the loop was stopped before the coroutine was done
closed:
  destroyed but pending: task clock, spawned at crates/stage2-coroutines/examples/ends.rs:N:N, sleeping for another 500ms at crates/stage2-coroutines/examples/ends.rs:N:N for 500.0ms
  0 tasks are pending, and the clock Future(pending)
"#;
    check("ends", &[":"], expected);
}

/// The figures depend on the compiler; their order of magnitude must not.
#[test]
fn a_frame_holds_what_is_alive_at_an_await() {
    let text = common::example("sizes", &[]);
    let size = |what: &str| -> usize {
        let line = text.lines().find(|line| line.trim_start().starts_with(what)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!(size("nothing to remember") <= 8);
    assert!((1024..1048).contains(&size("1024 bytes across an await")));
    assert!((1024..1048).contains(&size("1024 bytes, lent before it")));
    assert!(size("1024 bytes, gone before it") <= 16);
    assert!(size("1024 bytes, and then 1024") < 2 * 1024, "they share their room");
    assert!((1024..1048).contains(&size("delegates to the second")));
    assert!(size("delegates to it in a box") <= 24);
    assert!(size("recurses, however deep") <= 32);
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
