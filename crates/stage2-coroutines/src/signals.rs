//! `kill -USR1`: where is everybody?

use std::io;
use std::thread;

use signal_hook::consts::SIGUSR1;
use signal_hook::iterator::Signals;

use crate::EventLoop;

impl EventLoop {
    /// Tells `say` what the loop has to complain about, and on SIGUSR1 what
    /// each task is doing: what a program does that has a stderr to say it on.
    ///
    /// # Errors
    /// As for [`EventLoop::report_tasks_on_sigusr1`].
    pub fn speak_through(&self, say: impl Fn(&str) + Clone + Send + 'static) -> io::Result<()> {
        let complain = say.clone();
        self.set_exception_handler(move |complaint| complain(&format!("{complaint}\n")));
        self.report_tasks_on_sigusr1(say)
    }

    /// From now on, when the process receives SIGUSR1, `report` is given a text
    /// with a line about each task. It is called on the loop's thread; a loop
    /// that sleeps wakes up for it.
    ///
    /// # Errors
    /// When the signal cannot be watched for, or no thread be had to do it.
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
