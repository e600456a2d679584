//! An hour of deadlines in virtual time.
#![allow(clippy::print_stdout)]

use std::io;
use std::time::Duration;

use selector_core::{Selector, Timers, VirtualClock};

const MINUTE: Duration = Duration::from_secs(60);

// ANCHOR: loop
fn main() -> io::Result<()> {
    let mut selector: Selector<()> = Selector::with_backend(VirtualClock::new());
    let mut timers = Timers::new();
    let start = selector.now();

    let tea = timers.set(start + MINUTE * 4, "the tea");
    let cake = timers.set(start + MINUTE * 45, "the cake");
    timers.set(start + MINUTE * 60, "the guests");
    timers.move_to(cake, start + MINUTE * 50);
    timers.cancel(tea);

    let mut keys = Vec::new();
    while let Some(due) = timers.next_due() {
        let timeout = due.saturating_duration_since(selector.now());
        println!("asleep for {} minutes", timeout.as_secs() / 60);
        selector.select(Some(timeout), &mut keys)?;
        while let Some(what) = timers.pop_due(selector.now()) {
            let minutes = minutes(selector.now() - start);
            println!("  {what}, {minutes} minutes after the start");
        }
    }
    Ok(())
}
// ANCHOR_END: loop

fn minutes(time: Duration) -> u64 {
    time.as_secs() / 60
}
