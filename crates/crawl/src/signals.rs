//! Signals: SIGINT (Ctrl-C) and SIGTERM begin a graceful shutdown.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crawl_core::StopReason;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use stage3_queue::Stopper;

/// Time after the second signal until the process exits by force. A crawl that is
/// still running then is blocked on its output, which the reader does not read.
const FORCED_EXIT_DELAY: Duration = Duration::from_secs(1);

/// A guard: while it lives, signals stop the crawl; afterwards, they end the
/// process as usual.
pub(crate) struct SignalGuard(Arc<AtomicBool>);

impl Drop for SignalGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Starts a thread that stops the crawl on SIGINT and SIGTERM. The first signal
/// begins a graceful shutdown, as `warn` says to the user, and the second one ends it
/// at once.
///
/// # Errors
/// When the signal handlers cannot be installed or the thread cannot be started.
pub(crate) fn watch(
    stopper: Stopper,
    warn: impl Fn(&str) + Send + 'static,
) -> io::Result<SignalGuard> {
    let is_over = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_default(signal, Arc::clone(&is_over))?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let guard = SignalGuard(Arc::clone(&is_over));
    let watch = move || {
        for (n, signal) in signals.forever().enumerate() {
            let number = u8::try_from(signal).unwrap_or(0);
            stopper.stop(StopReason::Signal(number));
            if n == 0 {
                warn("stopping: what is under way has 2 s, and none after a second signal");
            } else {
                thread::sleep(FORCED_EXIT_DELAY);
                if !is_over.load(Ordering::SeqCst) {
                    std::process::exit(128 + signal);
                }
            }
        }
    };
    thread::Builder::new().name("signals to stop".into()).spawn(watch)?;
    Ok(guard)
}
