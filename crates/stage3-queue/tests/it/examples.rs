//! The output of the examples is as expected.

use std::process::Command;

use test_support::examples as common;

#[test]
fn the_end() {
    let expected = r#"
new work is put in before old work is handed back:
0s  worker 1 takes /     in the queue 0, unfinished 1
1s  worker 1 has done /  in the queue 1, unfinished 1
1s  worker 2 takes /a    in the queue 0, unfinished 1
2s  worker 2 has done /a in the queue 3, unfinished 3
2s  worker 2 takes /b    in the queue 2, unfinished 3
2s  worker 1 takes /c    in the queue 1, unfinished 3
3s  worker 2 has done /b in the queue 1, unfinished 2
3s  worker 2 takes /d    in the queue 0, unfinished 2
3s  worker 1 has done /c in the queue 0, unfinished 1
4s  worker 2 has done /d in the queue 0, unfinished 0
4s  join returns         in the queue 0, unfinished 0
the other way round:
0s  worker 1 takes /     in the queue 0, unfinished 1
1s  worker 1 has done /  in the queue 1, unfinished 1
1s  worker 2 takes /a    in the queue 0, unfinished 1
1s  join returns         in the queue 0, unfinished 1
"#;
    assert_eq!(common::example("the_end", &[]), expected.trim_start());
}

#[test]
fn coalesced() {
    let expected = r#"
at most 10 redirects in a chain:
  /      200 page, 3 of 3 links are new
  /foo   302 -> /baz
  /bar   302 -> /baz
  /egg   302 -> /hen
  /baz   302 -> /quux
  /hen   302 error: redirect_loop
  /quux  200 page, 0 of 0 links are new
  7 requests
at most 1 redirect in a chain:
  /      200 page, 3 of 3 links are new
  /foo   302 -> /baz
  /bar   302 -> /baz
  /egg   302 -> /hen
  /baz   302 error: redirect_limit
  /hen   302 error: redirect_limit
  6 requests
"#;
    assert_eq!(common::example("coalesced", &[]), expected.trim_start());
}

#[test]
fn awkward_servers() {
    let expected = r#"
/         200  Page                        tries: 1
/silence  -    Failed     timeout          tries: 2
/drip     -    Failed     timeout          tries: 2
/goodbye  -    Failed     closed           tries: 2
/cut      200  Failed     truncated        tries: 2
/garbage  -    Failed     protocol         tries: 1
/headers  -    Failed     too_large        tries: 1
/large    200  Page                        tries: 1
/gzip     200  Failed     decode           tries: 1
/nowhere  302  HttpError  redirect_target  tries: 1
10 rows, 0 left to do
"#;
    assert_eq!(common::example("awkward_servers", &[]), expected.trim_start());
}

#[test]
fn chapter_crawler() {
    let output = common::example("chapter_crawler", &[]);
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    let expected = [
        "/ 3 redirects left",
        "/loop/1 3 redirects left",
        "/loop/11 2 redirects left",
        "/loop/111 1 redirects left",
        "/loop/1111 0 redirects left",
        "/loop/1111 redirects too often",
        "/new 2 redirects left",
        "/old 3 redirects left",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn beside_asyncio() {
    let expected = "\
run:
hello
task:
spawned
hello
gather:
[2, 4, 6]
group:
caught: no route
timeout:
too late
cancel:
the light is off
cancelled
future:
called back
42
wait:
1 done, 2 pending
2
4
6
exception:
1 true
queue:
did 2
did 1
did 0
thread:
from a thread
";
    assert_eq!(common::run("beside_asyncio").0, expected);
}

/// The program in Python beside it prints the same.
#[test]
#[ignore = "needs python3 3.11"]
fn asyncio_beside() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/python/beside_asyncio.py");
    let output = Command::new("python3").arg(file).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(String::from_utf8_lossy(&output.stdout), common::run("beside_asyncio").0);
}
