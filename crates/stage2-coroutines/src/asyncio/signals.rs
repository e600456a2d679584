//! The task dump on SIGUSR1 (`kill -USR1`).

use std::io;
use std::thread;

use signal_hook::consts::SIGUSR1;
use signal_hook::iterator::Signals;

use crate::EventLoop;

impl EventLoop {
    /// Calls `print` with every error of the loop, and on SIGUSR1 with what each
    /// task is doing. A program that has a stderr calls this once.
    ///
    /// # Errors
    /// As for [`EventLoop::report_tasks_on_sigusr1`].
    pub fn report_to(&self, print: impl Fn(&str) + Clone + Send + 'static) -> io::Result<()> {
        let print_error = print.clone();
        self.set_exception_handler(move |error| print_error(&format!("{error}\n")));
        self.report_tasks_on_sigusr1(print)
    }

    /// Calls `report`, whenever the process receives SIGUSR1, with a text that
    /// has one line for each task. The call is made on the thread of the loop,
    /// and wakes the loop if it sleeps.
    ///
    /// # Errors
    /// When the signal handler cannot be installed, or the thread that waits
    /// for the signal cannot be started.
    pub fn report_tasks_on_sigusr1(
        &self,
        report: impl Fn(&str) + Clone + Send + 'static,
    ) -> io::Result<()> {
        let mut signals = Signals::new([SIGUSR1])?;
        let remote = self.remote();
        let watch = move || {
            for _ in signals.forever() {
                let report = report.clone();
                remote.call_soon(move |event_loop| report(&event_loop.describe_tasks()));
            }
        };
        thread::Builder::new().name("signals".into()).spawn(watch)?;
        Ok(())
    }
}
