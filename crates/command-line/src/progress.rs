//! A line on the terminal that says how far the crawl is.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crawl_core::Standing;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The line of this process, once there is one.
static LINE: OnceLock<ProgressBar> = OnceLock::new();

/// Shows it, and is to be told how the crawl stands every
/// [`Progress::INTERVAL`].
#[derive(Debug)]
pub struct Progress {
    line: ProgressBar,
    begun: Instant,
    /// When the speed was last reckoned, and how many were done then.
    reckoned: (Instant, u64),
    speed: f64,
}

impl Progress {
    /// How often the line changes. Nobody reads faster.
    pub const INTERVAL: Duration = Duration::from_millis(100);

    /// A line, if stderr is a terminal.
    pub(crate) fn on_terminal() -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        // Nothing in there can be wrong; else the line would look different.
        let style = ProgressStyle::with_template("{wide_msg}");
        let line = style.map_or(line.clone(), |style| line.with_style(style));
        let now = Instant::now();
        let line = LINE.get_or_init(|| line).clone();
        Some(Self { line, begun: now, reckoned: (now, 0), speed: 0.0 })
    }

    /// Shows how the crawl stands.
    pub fn show(&mut self, standing: &Standing) {
        let now = Instant::now();
        let (then, done) = self.reckoned;
        let elapsed = now.duration_since(then);
        if elapsed >= Duration::from_secs(1) {
            self.speed = standing.done.saturating_sub(done) as f64 / elapsed.as_secs_f64();
            self.reckoned = (now, standing.done);
        }
        let seconds = now.duration_since(self.begun).as_secs();
        let Standing { done, queued, in_flight, broken } = standing;
        self.line.set_message(format!(
            "{done} done, {queued} queued, {in_flight} in flight, {:.0}/s, {broken} broken, {}:{:02}",
            self.speed,
            seconds / 60,
            seconds % 60,
        ));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}

/// Does this while the line is out of the way, if there is one: what is written
/// then does not get into it.
pub(crate) fn undisturbed<T>(write: impl FnOnce() -> T) -> T {
    match LINE.get() {
        Some(line) if !line.is_finished() => line.suspend(write),
        _ => write(),
    }
}
