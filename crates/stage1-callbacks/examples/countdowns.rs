//! Two countdowns at once on one thread, with callbacks: each callback ends by
//! registering the next one with the loop, and the state goes with it.
//!
//! `cargo run -p stage1-callbacks --example countdowns`
#![allow(clippy::print_stdout)] // An example may print.

use std::io;
use std::time::{Duration, Instant};

use selector_core::VirtualClock;
use stage1_callbacks::EventLoop;

type Loop = EventLoop<Countdown>;

// ANCHOR: countdown
/// The local variables of a loop with a pause in it, as a struct.
struct Countdown {
    name: &'static str,
    remaining: u32,
    pause: Duration,
    begun: Instant,
}

impl Countdown {
    /// Moves itself into the loop, to be called after the pause.
    fn wait(self: Box<Self>, event_loop: &mut Loop) {
        event_loop.call_at(event_loop.now() + self.pause, self, Self::paused);
    }

    fn paused(mut self: Box<Self>, event_loop: &mut Loop) {
        let time = event_loop.now() - self.begun;
        println!("{time:?}  {}: {}", self.name, self.remaining);
        self.remaining -= 1;
        if self.remaining > 0 {
            return self.wait(event_loop);
        }
        // No callback is registered: the countdown ends here.
        if event_loop.timers.is_empty() {
            event_loop.stop();
        }
    }
}
// ANCHOR_END: countdown

// ANCHOR: drop
impl Drop for Countdown {
    fn drop(&mut self) {
        println!("    {} is freed", self.name);
    }
}
// ANCHOR_END: drop

// ANCHOR: main
fn main() -> io::Result<()> {
    // The clock is virtual: the seconds cost nothing.
    let mut event_loop = EventLoop::with_backend(VirtualClock::new());
    let begun = event_loop.now();
    for (name, remaining, seconds) in [("slow", 2, 3), ("quick", 3, 1)] {
        let pause = Duration::from_secs(seconds);
        Box::new(Countdown { name, remaining, pause, begun }).wait(&mut event_loop);
        println!("{name} has begun");
    }
    println!("nothing has happened yet");
    event_loop.run()?;
    println!("{} callbacks", event_loop.stats().callbacks);
    Ok(())
}
// ANCHOR_END: main
