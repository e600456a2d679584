//! Ctrl-C, and what service managers send.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crawl_core::Stopped;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use stage3_queue::Stopper;

/// How long the crawl may take to end when it is to end at once. What keeps it
/// is then not the crawl, but whoever does not read what it writes.
const AT_ONCE: Duration = Duration::from_secs(1);

/// While this lives, signals stop the crawl; afterwards, they end the process.
pub(crate) struct Heeded(Arc<AtomicBool>);

impl Drop for Heeded {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Has SIGINT and SIGTERM stop a crawl.
///
/// # Errors
/// When the signals cannot be watched for, or no thread be had to do it.
pub(crate) fn stop(stopper: Stopper) -> io::Result<Heeded> {
    let is_over = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_default(signal, Arc::clone(&is_over))?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let heeded = Heeded(Arc::clone(&is_over));
    let watch = move || {
        for (n, signal) in signals.forever().enumerate() {
            let number = u8::try_from(signal).unwrap_or(0);
            stopper.stop(Stopped::Signal(number));
            if n > 0 {
                thread::sleep(AT_ONCE);
                if !is_over.load(Ordering::SeqCst) {
                    std::process::exit(128 + signal);
                }
            }
        }
    };
    thread::Builder::new().name("signals to stop".into()).spawn(watch)?;
    Ok(heeded)
}
