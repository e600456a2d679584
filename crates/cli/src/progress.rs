//! The progress of a crawl: a line on the terminal, or in the log now and then; and
//! long waits.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crawl_core::{CrawlProgress, HostWait};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::log::Log;

/// The progress line of this process, once it is shown.
static LINE: OnceLock<ProgressBar> = OnceLock::new();

/// The time between two lines in the log, if stderr is no terminal.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// The least wait for a host that is logged.
const LONG_WAIT: Duration = Duration::from_secs(2);

/// The progress of a crawl. The caller updates it with [`Progress::show`] every
/// [`Progress::INTERVAL`].
#[derive(Debug)]
pub struct Progress {
    log: Log,
    /// The line, if stderr is a terminal.
    line: Option<ProgressBar>,
    /// Time of the next line in the log, if stderr is no terminal.
    next_log: Option<Instant>,
    /// The wait that was logged last.
    logged: Option<HostWait>,
    begun: Instant,
    /// Time of the last measurement of the speed, and the number of URLs done then.
    measured: (Instant, u64),
    speed: f64,
}

impl Progress {
    /// Time between two updates of the line.
    pub const INTERVAL: Duration = Duration::from_millis(100);

    /// Creates a progress. If it is wanted, it has a line on a terminal, and lines in
    /// the log if stderr is none.
    pub(crate) fn new(log: Log, is_wanted: bool) -> Self {
        let (now, is_terminal) = (Instant::now(), io::stderr().is_terminal());
        let line = (is_wanted && is_terminal).then(|| LINE.get_or_init(line)).cloned();
        let next_log = (is_wanted && !is_terminal).then(|| now + LOG_INTERVAL);
        Self { log, line, next_log, logged: None, begun: now, measured: (now, 0), speed: 0.0 }
    }

    /// Updates the line with the counts of the crawl, and logs a long wait.
    pub fn show(&mut self, counts: &CrawlProgress) {
        let now = Instant::now();
        let CrawlProgress { done, queued, in_flight, broken, waits_for } = counts;
        let wait = waits_for.as_ref().map(|wait| {
            let seconds = wait.until.saturating_duration_since(now).as_secs_f64().ceil();
            format!("waiting {seconds} s for {}: {}", wait.host, wait.reason)
        });
        if let (Some(wait), Some(text)) = (waits_for, &wait)
            && self.logged.as_ref().is_none_or(|logged| logged != wait)
            && wait.until > now + LONG_WAIT
        {
            self.log.info(text);
            self.logged = Some(wait.clone());
        }
        let is_due = self.next_log.is_some_and(|next| next <= now);
        if self.line.is_none() && !is_due {
            return;
        }
        let (since, done_then) = self.measured;
        let elapsed = now.duration_since(since);
        if elapsed >= Duration::from_secs(1) {
            self.speed = done.saturating_sub(done_then) as f64 / elapsed.as_secs_f64();
            self.measured = (now, *done);
        }
        let seconds = now.duration_since(self.begun).as_secs();
        let text = format!(
            "{done} done, {queued} queued, {in_flight} in flight, {:.0}/s, {broken} broken, {}:{:02}{}",
            self.speed,
            seconds / 60,
            seconds % 60,
            wait.map(|wait| format!("; {wait}")).unwrap_or_default(),
        );
        match &self.line {
            Some(line) => line.set_message(text),
            None => {
                self.log.progress(&text);
                self.next_log = Some(now + LOG_INTERVAL);
            }
        }
    }
}

/// Creates a progress line on stderr.
fn line() -> ProgressBar {
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    // The template is valid; if it were not, the default style would be used.
    let style = ProgressStyle::with_template("{wide_msg}");
    style.map_or(line.clone(), |style| line.with_style(style))
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

/// Numbers of writes of this process that have begun, and that have come to their end.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Returns the number of the write to the output or the log that is under way, if there
/// is one. When it stays the same, the write is blocked: nothing reads the pipe.
pub fn write_under_way() -> Option<u64> {
    let ended = ENDED.load(Ordering::SeqCst);
    (BEGUN.load(Ordering::SeqCst) > ended).then_some(ended)
}

/// Calls `write` while the progress line is hidden, so that the two do not mix on
/// the terminal.
pub(crate) fn with_progress_hidden<T>(write: impl FnOnce() -> T) -> T {
    BEGUN.fetch_add(1, Ordering::SeqCst);
    let result = match LINE.get() {
        Some(line) if !line.is_finished() => line.suspend(write),
        _ => write(),
    };
    ENDED.fetch_add(1, Ordering::SeqCst);
    result
}
