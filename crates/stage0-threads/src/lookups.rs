//! Lookups that block the calling thread.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use crawl_core::Deadline;
use transport::{Lookup, LookupFn, LookupId, LookupResult, Resolver};

use crate::connection::remaining;
use crate::lock;

/// The resolver of a crawl. The operating system's lookup cannot be interrupted,
/// so the resolver runs it on a thread of its own, and a fetch waits for it no
/// longer than its deadline.
pub(crate) struct Lookups {
    state: Mutex<State>,
    notified: Arc<Notified>,
}

struct State {
    resolver: Resolver,
    /// The answers that no thread has taken yet.
    answers: HashMap<LookupId, LookupResult>,
}

/// The number of the resolver's notifications, for the threads that wait for the
/// next one.
#[derive(Default)]
struct Notified {
    count: Mutex<u64>,
    changed: Condvar,
}

impl Lookups {
    pub(crate) fn new(lookup: Arc<LookupFn>) -> Self {
        let notified = Arc::<Notified>::default();
        let notifying = Arc::clone(&notified);
        let notify = move || {
            *lock(&notifying.count) += 1;
            notifying.changed.notify_all();
        };
        let resolver = Resolver::new(lookup, notify);
        Self { state: Mutex::new(State { resolver, answers: HashMap::new() }), notified }
    }

    /// Looks up the addresses of a host, which is a name, an IPv4 address or an IPv6
    /// address in brackets.
    ///
    /// # Errors
    /// When there is no answer before the deadline.
    pub(crate) fn lookup(
        &self,
        host: &str,
        port: u16,
        deadline: &Deadline,
    ) -> io::Result<LookupResult> {
        let lookup = lock(&self.state).resolver.lookup(host, port, Instant::now());
        let lookup_id = match lookup {
            Lookup::Cached(addresses) => return Ok(Ok(addresses)),
            Lookup::Pending(lookup_id) => lookup_id,
        };
        loop {
            // Read before the answers: a notification after this ends the wait.
            let count = *lock(&self.notified.count);
            let mut state = lock(&self.state);
            let answered = state.resolver.answered(Instant::now());
            state.answers.extend(answered);
            if let Some(answer) = state.answers.remove(&lookup_id) {
                return Ok(answer);
            }
            let timeout = remaining(deadline);
            let timeout = timeout.inspect_err(|_| state.resolver.cancel(lookup_id))?;
            drop(state);
            let unchanged = |now: &mut u64| *now == count;
            let guard = lock(&self.notified.count);
            drop(self.notified.changed.wait_timeout_while(guard, timeout, unchanged));
        }
    }

    /// Puts an address that did not accept behind the others of its host.
    pub(crate) fn address_failed(&self, address: SocketAddr) {
        lock(&self.state).resolver.address_failed(address);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Sender, channel};
    use std::thread;
    use std::time::Duration;

    use crawl_core::Options;
    use transport::Addresses;

    use super::*;

    const WATCHDOG: Duration = Duration::from_secs(5);

    /// Returns lookups, their number, and a sender: the lookup of "slow.test"
    /// returns when it is dropped.
    fn lookups() -> (Lookups, Arc<AtomicUsize>, Sender<()>) {
        let num_lookups = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&num_lookups);
        let (release, held) = channel::<()>();
        let held = Mutex::new(held);
        let lookups = Lookups::new(Arc::new(move |host: &str, port| {
            count.fetch_add(1, Ordering::SeqCst);
            match host {
                "slow.test" => drop(held.lock().unwrap().recv()),
                "bug.test" => panic!("a bug in the lookup"),
                "unknown.test" => return Err(io::Error::other("no such host")),
                _ => {}
            }
            Ok(vec![([127, 0, 0, 3], port).into()])
        }));
        (lookups, num_lookups, release)
    }

    fn deadline(timeout: Duration) -> Deadline {
        let mut options = Options::new(Vec::new());
        options.settings.connect_timeout = timeout;
        Deadline::new(&options, Instant::now())
    }

    #[test]
    fn a_lookup_ends_at_its_deadline() {
        let (lookups, num_lookups, release) = lookups();
        for _ in 0..2 {
            let deadline = deadline(Duration::from_millis(20));
            assert!(lookups.lookup("slow.test", 80, &deadline).is_err());
            assert!(deadline.check(Instant::now()).is_err(), "not before its time");
            // Its thread may begin later than it ends.
            let begun = Instant::now();
            while num_lookups.load(Ordering::SeqCst) == 0 {
                assert!(begun.elapsed() < WATCHDOG, "it never begins");
                thread::yield_now();
            }
        }
        assert_eq!(num_lookups.load(Ordering::SeqCst), 1, "the first one is still under way");
        // Other lookups do not wait for it.
        let deadline = deadline(WATCHDOG);
        assert_eq!(lookups.lookup("fast.test", 80, &deadline).unwrap().unwrap().len(), 1);
        assert_eq!(lookups.lookup("127.0.0.9", 80, &deadline).unwrap().unwrap().len(), 1);
        for host in ["bug.test", "unknown.test"] {
            let error = lookups.lookup(host, 80, &deadline).unwrap().unwrap_err().to_string();
            assert!(error.starts_with(&format!("no address for {host}: ")), "{error}");
        }
        // The answer of the lookup that timed out is there for a later call.
        drop(release);
        assert_eq!(lookups.lookup("slow.test", 80, &deadline).unwrap().unwrap().len(), 1);
        assert_eq!(num_lookups.load(Ordering::SeqCst), 4);
        assert!(lock(&lookups.state).answers.is_empty());
    }

    #[test]
    fn threads_that_want_the_same_name_share_one_lookup() {
        const THREADS: usize = 20;
        let (lookups, num_lookups, release) = lookups();
        let ask = || lookups.lookup("slow.test", 80, &deadline(WATCHDOG)).unwrap().unwrap();
        let answers: Vec<Addresses> = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
            // No thread can be done yet, and most have begun to wait by now.
            thread::sleep(Duration::from_millis(50));
            assert!(threads.iter().all(|thread| !thread.is_finished()));
            drop(release);
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(answers.iter().all(|answer| *answer == answers[0]));
        assert_eq!(num_lookups.load(Ordering::SeqCst), 1);
    }
}
