//! The end of the process before its work is done: SIGINT (Ctrl-C), SIGTERM and the
//! limit on time begin a graceful shutdown, which a blocked output cannot hold up.

use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crawl_core::StopReason;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

/// Time after the second signal until the process exits by force.
const FORCED_EXIT_DELAY: Duration = Duration::from_secs(1);

/// Time after which a write of a process that should come to its end is taken for
/// blocked, and the process exits by force: nothing reads what it writes.
const STALL_TIMEOUT: Duration = Duration::from_secs(5);

/// Time between two looks at the output.
const STALL_INTERVAL: Duration = Duration::from_millis(100);

/// Time that the message about it has to be written, which may be blocked as well.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// The exit code of a crawl whose output cannot be written.
const COULD_NOT_RUN: i32 = 3;

/// A guard: while it lives, signals stop the crawl; afterwards, they end the
/// process as usual.
pub(crate) struct SignalGuard(Arc<AtomicBool>);

impl Drop for SignalGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Starts a thread that calls `stop` on SIGINT and SIGTERM. The first signal
/// begins a graceful shutdown, as `warn` says to the user, and the second one ends it
/// at once. From the first signal on, and from the limit on time on if that has ended the
/// crawl, an output that is blocked ends the process.
///
/// # Errors
/// When the signal handlers cannot be installed or a thread cannot be started.
pub(crate) fn watch(
    max_time: Option<Duration>,
    stop: impl Fn(StopReason) + Send + 'static,
    warn: Arc<dyn Fn(&str) + Send + Sync>,
) -> io::Result<SignalGuard> {
    let is_over = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_default(signal, Arc::clone(&is_over))?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let guard = SignalGuard(Arc::clone(&is_over));
    let watch = move || {
        for (n, signal) in signals.forever().enumerate() {
            let (number, code) = (u8::try_from(signal).unwrap_or(0), 128 + signal);
            stop(StopReason::Signal(number));
            if n == 0 {
                // If it cannot be started, a second signal ends the process.
                let _ = start("blocked output", move || exit_when_stalled(code));
                warn(
                    "stopping: requests in flight get 2 s to finish, and none after a second signal",
                );
            } else {
                thread::sleep(FORCED_EXIT_DELAY);
                if !is_over.load(Ordering::SeqCst) {
                    process::exit(code);
                }
            }
        }
    };
    start("signals to stop", watch)?;
    if let Some(max_time) = max_time {
        let is_over = Arc::clone(&guard.0);
        start("limit on time", move || {
            thread::sleep(max_time);
            if !is_over.load(Ordering::SeqCst) {
                exit_when_stalled(COULD_NOT_RUN);
            }
        })?;
    }
    Ok(guard)
}

/// Exits the process as soon as one write has been under way for a while.
fn exit_when_stalled(code: i32) {
    let (mut write, mut since) = (None, Instant::now());
    while write.is_none() || since.elapsed() < STALL_TIMEOUT {
        thread::sleep(STALL_INTERVAL);
        let now = cli::write_under_way();
        if now != write {
            (write, since) = (now, Instant::now());
        }
    }
    // Not written here: stderr may be blocked, too.
    let message = || cli::print("[error] the output is blocked; the rest of it is lost\n");
    let _ = start("last words", message);
    thread::sleep(LAST_WORDS);
    process::exit(code);
}

fn start(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(run).map(drop)
}
