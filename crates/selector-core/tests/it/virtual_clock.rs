//! A day of virtual time takes no real time.

use std::time::{Duration, Instant};

use selector_core::{Selector, Timers, VirtualClock};

const A_DAY: Duration = Duration::from_secs(24 * 3600);

#[test]
fn time_jumps_to_the_next_deadline() {
    let real_start = Instant::now();
    let mut selector: Selector<()> = Selector::with_backend(VirtualClock::new());
    let mut timers = Timers::new();
    let start = selector.now();
    timers.set(start + A_DAY * 2, "second");
    timers.set(start + A_DAY, "first");
    let mut fired = Vec::new();
    let mut keys = Vec::new();
    while let Some(due) = timers.next_due() {
        let timeout = due.saturating_duration_since(selector.now());
        selector.select(Some(timeout), &mut keys).unwrap();
        while let Some(name) = timers.pop_due(selector.now()) {
            fired.push((name, selector.now() - start));
        }
    }
    assert_eq!(fired, [("first", A_DAY), ("second", A_DAY * 2)]);
    assert!(real_start.elapsed() < A_DAY / 1000);
}

#[test]
fn waiting_for_nothing_is_an_error_instead_of_a_hang() {
    let mut selector: Selector<()> = Selector::with_backend(VirtualClock::new());
    selector.notifier().notify();
    let mut keys = Vec::new();
    selector.select(None, &mut keys).unwrap();
    // A time that the clock cannot reach never comes either.
    for timeout in [None, Some(Duration::MAX)] {
        let error = selector.select(timeout, &mut keys).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::Deadlock);
    }
}
