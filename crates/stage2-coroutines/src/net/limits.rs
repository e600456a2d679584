//! The limits on connections, for coroutines: permits to connect to an address,
//! and file descriptors.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::panic::Location;
use std::rc::Rc;

use transport::{Acquire, AddressId, ConnectLimiter};

use crate::runtime::observer::Origin;
use crate::sync::WaitQueue;
use crate::{EventLoop, Future, sleep};

type Limiter = ConnectLimiter<Future<()>>;

/// The limits of a connector, and the tasks that wait at them.
pub(crate) struct Limits {
    event_loop: EventLoop,
    connect_limiter: RefCell<Limiter>,
    /// The number of open connections.
    open: Cell<usize>,
    /// The tasks that wait for a file descriptor.
    fd_waiters: WaitQueue,
}

/// A guard of a connection: its permit and its file descriptor, given back when it
/// is dropped.
pub(crate) struct ConnectionGuard {
    limits: Rc<Limits>,
    /// The permit to connect, held until the response begins.
    permit: Option<AddressId>,
    is_open: bool,
}

impl Limits {
    pub(crate) fn new(event_loop: &EventLoop) -> Self {
        Self {
            event_loop: event_loop.clone(),
            connect_limiter: RefCell::default(),
            open: Cell::new(0),
            fd_waiters: WaitQueue::new(event_loop, &"waiting for a file descriptor"),
        }
    }

    // ANCHOR: acquire
    /// Acquires a permit to connect to an address, and waits until there is one.
    /// Permits are granted in the order of the calls. Calls `on_wait` if it has to
    /// wait.
    pub(crate) async fn acquire(
        self: &Rc<Self>,
        address: &SocketAddr,
        on_wait: impl FnOnce(),
    ) -> ConnectionGuard {
        let mut granted = None;
        let waiter = |_| granted.insert(Future::new(&self.event_loop)).clone();
        let now = self.event_loop.now();
        let (id, acquire) = self.connect_limiter.borrow_mut().acquire(*address, now, waiter);
        if acquire == (Acquire::Queued { needs_timer: true }) {
            self.grant_batches(id);
        }
        if let Some(granted) = granted {
            on_wait();
            let _guard = PassOn { given: granted.clone(), pass_on: || self.release(id) };
            // Never cancelled while it is awaited.
            let _ = granted.await;
        }
        ConnectionGuard { limits: Rc::clone(self), permit: Some(id), is_open: false }
    }
    // ANCHOR_END: acquire

    /// Grants permits to a batch of tasks at the end of each grace period, until
    /// none waits.
    fn grant_batches(self: &Rc<Self>, id: AddressId) {
        let limits = Rc::clone(self);
        let granting = async move {
            loop {
                sleep(&limits.event_loop, Limiter::GRACE_PERIOD).await;
                let now = limits.event_loop.now();
                let batch = limits.connect_limiter.borrow_mut().grant_batch(id, now);
                let Some(batch) = batch else { return };
                for granted in batch {
                    // Refused by a task that has stopped waiting.
                    if granted.set_result(()).is_err() {
                        limits.release(id);
                    }
                }
            }
        };
        // Nobody needs to see it among the tasks.
        let scheduler = self.event_loop.scheduler();
        scheduler.wake(scheduler.add(Box::pin(granting), Origin::Callback));
    }

    /// Releases a permit. The next task that waits for one gets it.
    fn release(&self, id: AddressId) {
        while let Some(granted) = self.next_for_permit(id) {
            // A task that has stopped waiting refuses it.
            if granted.set_result(()).is_ok() {
                return;
            }
        }
    }

    fn next_for_permit(&self, id: AddressId) -> Option<Future<()>> {
        self.connect_limiter.borrow_mut().release(id)
    }

    // ANCHOR: fd_freed
    /// Waits until a connection of these limits is closed and its file descriptor is
    /// free. At least one must be open.
    pub(crate) async fn fd_freed(&self) {
        self.fd_waiters.wait(Location::caller(), || self.wake_fd_waiter()).await;
    }
    // ANCHOR_END: fd_freed

    pub(crate) fn has_open_connections(&self) -> bool {
        self.open.get() > 0
    }

    pub(crate) fn has_fd_waiters(&self) -> bool {
        !self.fd_waiters.is_empty()
    }

    /// Wakes the next task that waits for a descriptor: one is free now, or no
    /// connection is left whose closing would free one.
    pub(crate) fn wake_fd_waiter(&self) {
        self.fd_waiters.wake_one();
    }
}

impl ConnectionGuard {
    /// Marks the connection as open: its end frees a file descriptor.
    pub(crate) fn opened(&mut self) {
        self.is_open = true;
        self.limits.open.update(|open| open + 1);
    }

    /// Gives the permit back: the server has answered.
    pub(crate) fn answered(&mut self) {
        if let Some(id) = self.permit.take() {
            self.limits.release(id);
        }
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.answered();
        if self.is_open {
            self.limits.open.update(|open| open - 1);
            self.limits.wake_fd_waiter();
        }
    }
}

/// A drop guard of a waiting task. If the task is dropped after it was given what
/// it waits for, and before it goes on, the guard passes that on.
struct PassOn<F: Fn()> {
    given: Future<()>,
    pass_on: F,
}

impl<F: Fn()> Drop for PassOn<F> {
    fn drop(&mut self) {
        let was_given = !self.given.cancel();
        // The result is still there: the task did not go on.
        if was_given && self.given.take_result().is_some() {
            (self.pass_on)();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Coroutine, Inspect, Runtime, Task, sleep, timeout_at, virtual_runtime};

    const SECOND: Duration = Duration::from_secs(1);

    fn limits() -> (Runtime, Rc<Limits>) {
        let runtime = virtual_runtime();
        let limits = Rc::new(Limits::new(runtime.event_loop()));
        (runtime, limits)
    }

    fn run<T>(runtime: &Runtime, coroutine: impl Coroutine<Output = T>) -> T {
        runtime.run_until_complete(coroutine).unwrap()
    }

    fn address() -> SocketAddr {
        ([127, 0, 0, 1], 80).into()
    }

    #[test]
    fn a_cancelled_waiter_leaves_the_descriptor_to_the_next() {
        let (runtime, limits) = limits();
        let event_loop = runtime.event_loop().clone();
        // Cancelled before it is woken, or after that and before it is resumed.
        for is_woken_first in [false, true] {
            let mut guard = run(&runtime, limits.acquire(&address(), || ()));
            guard.opened();
            assert!(limits.has_open_connections());
            let waits = || {
                let limits = Rc::clone(&limits);
                Task::spawn(&event_loop, async move { limits.fd_freed().await })
            };
            let (first, second) = (waits(), waits());
            run(&runtime, sleep(&event_loop, SECOND));
            assert!(limits.has_fd_waiters());
            if is_woken_first {
                drop(guard);
                first.cancel();
            } else {
                first.cancel();
                drop(guard);
            }
            let deadline = event_loop.now() + SECOND;
            let result = run(&runtime, timeout_at(&event_loop, || deadline, second));
            result.expect("one descriptor was freed, and one waits for it").unwrap();
            assert!(!limits.has_fd_waiters() && !limits.has_open_connections());
        }
    }

    #[test]
    fn a_task_that_waits_is_freed_by_close() {
        let (runtime, limits) = limits();
        let event_loop = runtime.event_loop().clone();
        let inside = Rc::clone(&limits);
        drop(Task::spawn(&event_loop, async move { inside.fd_freed().await }));
        run(&runtime, sleep(&event_loop, SECOND));
        assert_eq!(Rc::strong_count(&limits), 2);
        drop(runtime);
        assert_eq!(Rc::strong_count(&limits), 1);
        assert_eq!(event_loop.pending_tasks(), 0);
    }

    #[test]
    fn a_cancelled_waiter_leaves_the_permit_to_the_next() {
        let (runtime, limits) = limits();
        let event_loop = runtime.event_loop().clone();
        let mut guards: Vec<ConnectionGuard> = (0..Limiter::MAX_PENDING)
            .map(|_| run(&runtime, limits.acquire(&address(), || ())))
            .collect();
        for is_granted_first in [false, true] {
            let waits = || {
                let limits = Rc::clone(&limits);
                Task::spawn(&event_loop, async move { limits.acquire(&address(), || ()).await })
            };
            let (first, second) = (waits(), waits());
            run(&runtime, async { crate::yield_now(&event_loop).await });
            if is_granted_first {
                drop(guards.pop());
                first.cancel();
            } else {
                first.cancel();
                drop(guards.pop());
            }
            let begun = event_loop.now();
            guards.push(run(&runtime, second).unwrap());
            assert_eq!(event_loop.now(), begun, "no grace period was needed");
        }
        // Without a release, the next batch is granted after the grace period.
        let begun = event_loop.now();
        guards.push(run(&runtime, limits.acquire(&address(), || ())));
        assert_eq!(event_loop.now() - begun, Limiter::GRACE_PERIOD);
        drop(guards);
        run(&runtime, sleep(&event_loop, SECOND));
        let limiter = format!("{:?}", limits.connect_limiter.borrow());
        assert!(limiter.contains("addresses: 0"), "{limiter}");
    }
}
