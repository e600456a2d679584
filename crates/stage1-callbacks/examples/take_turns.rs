//! Two countdowns at once on one thread, with callbacks: each call ends by
//! leaving the next one with the loop, and the state goes with it.
//!
//! `cargo run -p stage1-callbacks --example take_turns`
#![allow(clippy::print_stdout)] // An example may print.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use selector_core::VirtualTime;
use stage1_callbacks::EventLoop;
use transport::system_look_up;

type Loop = EventLoop<Countdown>;

// ANCHOR: countdown
/// What would be the local variables of a loop with a pause in it.
struct Countdown {
    name: &'static str,
    left: u32,
    pause: Duration,
    begun: Instant,
}

impl Countdown {
    /// Leaves itself with the loop, to go on after the pause.
    fn wait(self: Box<Self>, event_loop: &mut Loop) {
        event_loop.call_at(event_loop.now() + self.pause, self, Self::paused);
    }

    fn paused(mut self: Box<Self>, event_loop: &mut Loop) {
        println!("{:?}  {}: {}", event_loop.now() - self.begun, self.name, self.left);
        self.left -= 1;
        if self.left > 0 {
            return self.wait(event_loop);
        }
        // Nothing is left with the loop: the countdown ends here.
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
    // In virtual time: the seconds cost nothing.
    let mut event_loop = EventLoop::in_world(VirtualTime::new(), Arc::new(system_look_up));
    let begun = event_loop.now();
    for (name, left, seconds) in [("slow", 2, 3), ("quick", 3, 1)] {
        let pause = Duration::from_secs(seconds);
        Box::new(Countdown { name, left, pause, begun }).wait(&mut event_loop);
        println!("{name} has begun");
    }
    println!("nothing has happened yet");
    event_loop.run()?;
    println!("{} callbacks", event_loop.stats().callbacks);
    Ok(())
}
// ANCHOR_END: main
