//! The progress line on the terminal.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crawl_core::CrawlProgress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The progress line of this process, once it is shown.
static LINE: OnceLock<ProgressBar> = OnceLock::new();

/// The progress line. The caller updates it with [`Progress::show`] every
/// [`Progress::INTERVAL`].
#[derive(Debug)]
pub struct Progress {
    line: ProgressBar,
    begun: Instant,
    /// Time of the last measurement of the speed, and the number of URLs done then.
    measured: (Instant, u64),
    speed: f64,
}

impl Progress {
    /// Time between two updates of the line.
    pub const INTERVAL: Duration = Duration::from_millis(100);

    /// Creates a progress line if stderr is a terminal.
    pub(crate) fn on_terminal() -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        // The template is valid; if it were not, the default style would be used.
        let style = ProgressStyle::with_template("{wide_msg}");
        let line = style.map_or(line.clone(), |style| line.with_style(style));
        let now = Instant::now();
        let line = LINE.get_or_init(|| line).clone();
        Some(Self { line, begun: now, measured: (now, 0), speed: 0.0 })
    }

    /// Updates the line with the counts of the crawl.
    pub fn show(&mut self, counts: &CrawlProgress) {
        let now = Instant::now();
        let (since, done) = self.measured;
        let elapsed = now.duration_since(since);
        if elapsed >= Duration::from_secs(1) {
            self.speed = counts.done.saturating_sub(done) as f64 / elapsed.as_secs_f64();
            self.measured = (now, counts.done);
        }
        let seconds = now.duration_since(self.begun).as_secs();
        let CrawlProgress { done, queued, in_flight, broken } = counts;
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

/// Calls `write` while the progress line is hidden, so that the two do not mix on
/// the terminal.
pub(crate) fn with_progress_hidden<T>(write: impl FnOnce() -> T) -> T {
    match LINE.get() {
        Some(line) if !line.is_finished() => line.suspend(write),
        _ => write(),
    }
}
