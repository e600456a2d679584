//! The examples print what is expected.

use test_support::examples as common;

/// Busy polling reads often; a selector reads once, or twice if another event
/// comes first.
#[test]
fn busy_loop() {
    let output = common::example("busy_loop", &[]);
    let asked: Vec<usize> = output.lines().skip(1).map(column(1)).collect();
    let [busy, naps, told] = asked[..] else { panic!("{output}") };
    assert!(busy > 1000 && (2..=6).contains(&naps) && told <= 2, "{output}");
    let noticed: Vec<usize> = output.lines().skip(1).map(column(2)).collect();
    assert!(noticed.iter().all(|&millis| millis >= 200), "{output}");
}

/// Reads the number in a column; columns are two spaces or more apart.
fn column(column: usize) -> impl Fn(&str) -> usize {
    move |line| {
        let cell = line.split("  ").filter(|cell| !cell.is_empty()).nth(column).unwrap();
        cell.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap()
    }
}

/// Moments at which each answer arrived and was read, in tenths of a second, in
/// the order of reading.
fn times(output: &str) -> Vec<[u32; 2]> {
    let lines = output.lines().filter(|line| line.starts_with("  there"));
    let tenths = |line: &str| -> [u32; 2] {
        let seconds = line.split(['s', 'r', ' ']).filter(|part| part.contains('.'));
        let tenths = seconds.map(|part| part.replace('.', "").parse().unwrap());
        tenths.collect::<Vec<_>>().try_into().unwrap()
    };
    lines.map(tenths).collect()
}

/// A busy machine takes longer, never shorter.
#[test]
fn blocking_loop() {
    let times = times(&common::example("blocking_loop", &[]));
    let [one_after_another, asked_at_once] = [&times[..3], &times[3..]];
    for (times, least) in [(one_after_another, [3, 5, 6]), (asked_at_once, [3, 3, 3])] {
        let there: Vec<u32> = times.iter().map(|time| time[0]).collect();
        assert_eq!(there, [3, 2, 1]);
        assert!(times.iter().zip(least).all(|(time, least)| time[1] >= least), "{times:?}");
    }
}

#[test]
fn readiness() {
    let output = common::example("readiness", &[]);
    let times = times(&output);
    let there: Vec<u32> = times.iter().map(|time| time[0]).collect();
    assert_eq!(there, [1, 2, 3], "in the order in which they come");
    assert!(times.iter().all(|[there, taken]| taken >= there), "{output}");
    assert!(output.ends_with("a handful of ticks\n"), "{output}");
}

#[test]
fn connect_dance() {
    let expected = "\
a server that listens:
  connect has returned
  the waiter is told: writable
  connected
a port where no server does any more:
  connect has returned
  the waiter is told: writable
  not connected: connection refused
";
    assert_eq!(common::example("connect_dance", &[]), expected);
}

#[test]
fn edge_triggered() {
    let expected = "\
one read per event, as in the chapter:
  event
  read 4,096 bytes
  no event, and 12,288 bytes are waiting to be read
read until it would block:
  event
  read 4,096 bytes
  read 4,096 bytes
  read 4,096 bytes
  read 4,096 bytes
  it would block
one read per event, registered anew each time:
  event
  read 4,096 bytes
  event
  read 4,096 bytes
  event
  read 4,096 bytes
  event
  read 4,096 bytes
";
    assert_eq!(common::example("edge_triggered", &[]), expected);
}

/// The bytes that a socket takes at once depend on the system.
#[test]
fn partial_writes() {
    let output = common::example("partial_writes", &[]);
    let lines: Vec<&str> = output.lines().collect();
    let [one_write, taken, part, of_std, refused, other_part, write_all, all] = lines[..] else {
        panic!("{output}")
    };
    assert_eq!([one_write, part], ["one write:", "  only a part has arrived"]);
    assert!(taken.starts_with("  16,777,216 bytes are offered, "), "{output}");
    assert_eq!([of_std, other_part], ["write_all of the standard library:", part]);
    assert_eq!(refused, "  operation would block: how much is sent, it does not say");
    assert_eq!(write_all, "write, and wait until there is room for more:");
    assert_eq!(all, "  all of it has arrived");
}

#[test]
fn timers() {
    let expected = "\
asleep for 50 minutes
  the cake, 50 minutes after the start
asleep for 10 minutes
  the guests, 60 minutes after the start
";
    assert_eq!(common::example("timers", &[]), expected);
}
