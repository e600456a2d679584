//! The examples from the sources on asyncio and Tornado, compared with their
//! expected output.

use test_support::examples as common;

/// Runs an example, and returns its stdout and stderr with line numbers masked.
fn run(name: &str) -> (String, String) {
    let (stdout, stderr) = common::run(name);
    (common::mask(&stdout, ":"), common::mask(&stderr, ":"))
}

#[track_caller]
fn check(name: &str, expected: &str) {
    let (stdout, stderr) = run(name);
    assert_eq!(stdout, expected);
    assert_eq!(stderr, "");
}

#[test]
fn numbers_after_a_colon_are_masked() {
    assert_eq!(common::mask("src/a.rs:12:3: 4 lines", ":"), "src/a.rs:N:N: 4 lines");
}

#[test]
fn hello_world_coroutine() {
    let expected = "\
Hello World
Hello World
Hello World
That is enough: the coroutine was not done within 5s.
";
    check("hello_world_coroutine", expected);
}

#[test]
fn hello_world_callback() {
    check("hello_world_callback", &"Hello World\n".repeat(3));
}

#[test]
fn chain() {
    let expected = "\
adding 1 to 2 takes a second
1 + 2 = 3
2 steps for the whole chain
";
    check("chain", expected);
}

#[test]
fn future_run_until_complete() {
    let expected = "\
before: the future is done: false
after: the slow operation is over
";
    check("future_run_until_complete", expected);
}

#[test]
fn future_run_forever() {
    check("future_run_forever", "the slow operation is over\n");
}

#[test]
fn parallel_factorial() {
    let expected = "\
A multiplies 1 by 2
B multiplies 1 by 2
C multiplies 1 by 2
A has 2! = 2
B multiplies 2 by 3
C multiplies 2 by 3
B has 3! = 6
C multiplies 6 by 4
C has 4! = 24
3 done, 0 pending
3s in all
";
    check("parallel_factorial", expected);
}

#[test]
fn tornado_run_sync() {
    let expected = r#"a list:
  /a took 1 s
  /c took 2 s
  /b took 3 s
  [("/a", 1), ("/b", 3), ("/c", 2)] after 3s
a dict:
  /b took 1 s
  /a took 2 s
  {"first": ("/a", 2), "second": ("/b", 1)} after 2s
a moment for the others:
  ping, turn 1
  pong, turn 1
  ping, turn 2
  pong, turn 2
too slow:
  the coroutine was not done within 10s
"#;
    check("tornado_run_sync", expected);
}

#[test]
fn task_checks() {
    let expected = "\
a task awaits itself: a task cannot await itself
and is done with that: ()
a future of another loop: the future belongs to another loop
cancelled before the first step: cancelled
  (its variables are dropped)
cancelled before the next step: cancelled
a task knows whose turn it is: true
outside of tasks it is no task's: true
a bare yield: others have a turn,
and then one goes on: ()
resumed with an error: no route to host
the worst that can happen: panicked: this cannot be
";
    let (stdout, stderr) = run("task_checks");
    assert_eq!(stdout, expected);
    // The panic is recorded, and the panic hook has printed it as well.
    assert!(stderr.contains("examples/task_checks.rs:N:N:\nthis cannot be\n"), "{stderr}");
    assert_eq!(stderr.matches("panicked at").count(), 1, "{stderr}");
}

#[test]
fn unfinished_task_warning() {
    let stdout = "\
the workers are cancelled: false
  fetched /a
  fetched /b
  fetched /c
  2 tasks are pending
the workers are cancelled: true
  fetched /a
  fetched /b
  fetched /c
  0 tasks are pending
";
    let source = "crates/stage2-coroutines/examples/unfinished_task_warning.rs:N:N";
    let destroyed = |name, seconds| {
        let task = format!("task {name}, spawned at {source}");
        format!("destroyed but pending: {task}, waiting for a future for {seconds}\n")
    };
    // One worker fetched two pages in two seconds, the other one page in one.
    let stderr = destroyed("left", "8.0s") + &destroyed("right", "9.0s");
    assert_eq!(run("unfinished_task_warning"), (stdout.to_owned(), stderr));
}

#[test]
fn chapter_task() {
    let expected = r#"
to its end:
  3
  2
  1
  the generator has returned
cancelled:
  3
  the generator has ended with: cancelled
cancelled, and denied:
  3
  3
  2
  1
  the generator has returned
"#;
    assert_eq!(common::example("chapter_task", &[]), expected.trim_start());
}

#[test]
fn chapter_fetch() {
    let expected = "\
in one piece:
  connected
  /page: 12082 bytes
by delegation, two at once:
  connected
  connected
  /page: 12082 bytes
  /slow: 12082 bytes
";
    check("chapter_fetch", expected);
}
