//! Observers: what each task of a loop waits for and since when, statistics, deadlocks and
//! circles, traces, and the exploration of orders.
//!
//! They are plugged into a loop when it is made, several at once as pairs. The runtime
//! knows none of them.

mod deadlock;
#[cfg(feature = "explore")]
pub(crate) mod explore;
mod inspector;
mod peers;
mod report;
mod trace;

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use selector_core::Key;

pub use inspector::{Inspector, LoopError, TaskInfo};
pub use report::{Inspect, InspectTask, Stats};
pub use trace::Trace;

use crate::runtime::observer::{Observer, Origin, Place, StepEnd, Unhandled, Wait};
use crate::{EventLoop, Exception};

/// Remembers the address of a connection for the inspector of its loop, if it has one.
pub(crate) fn set_peer(event_loop: &EventLoop, key: Key, address: SocketAddr) {
    if let Some(inspector) = event_loop.observer::<Inspector>() {
        inspector.peers.borrow_mut().set(key, address);
    }
}

/// Both observe. Of two errors, the first counts.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn spawned(&self, task: Key, origin: Origin) {
        self.0.spawned(task, origin);
        self.1.spawned(task, origin);
    }

    fn woken(&self, task: Key) {
        self.0.woken(task);
        self.1.woken(task);
    }

    fn step_begins(&self, task: Key) {
        self.0.step_begins(task);
        self.1.step_begins(task);
    }

    fn waits(&self, wait: Wait, at: Option<Place>, since: Instant) {
        self.0.waits(wait, at, since);
        self.1.waits(wait, at, since);
    }

    fn awaits(&self, task: Key, awaited: Key) -> Result<(), Exception> {
        self.0.awaits(task, awaited)?;
        self.1.awaits(task, awaited)
    }

    fn step_ends(&self, task: Key, end: StepEnd) {
        self.0.step_ends(task, end);
        self.1.step_ends(task, end);
    }

    fn dropped(&self, task: Key) {
        self.0.dropped(task);
        self.1.dropped(task);
    }

    fn panicked(&self) {
        self.0.panicked();
        self.1.panicked();
    }

    fn unhandled(&self, what: &Unhandled<'_>) {
        self.0.unhandled(what);
        self.1.unhandled(what);
    }

    fn order(&self, batch: &mut VecDeque<Key>) {
        self.0.order(batch);
        self.1.order(batch);
    }

    fn batch_ends(&self, event_loop: &EventLoop) {
        self.0.batch_ends(event_loop);
        self.1.batch_ends(event_loop);
    }

    fn idle(&self, event_loop: &EventLoop) -> io::Result<()> {
        self.0.idle(event_loop)?;
        self.1.idle(event_loop)
    }

    fn visit<'o>(&'o self, visit: &mut dyn FnMut(&'o dyn Any)) {
        self.0.visit(visit);
        self.1.visit(visit);
    }
}

/// An observer that others have a handle to.
impl<O: Observer> Observer for Rc<O> {
    fn spawned(&self, task: Key, origin: Origin) {
        (**self).spawned(task, origin);
    }

    fn woken(&self, task: Key) {
        (**self).woken(task);
    }

    fn step_begins(&self, task: Key) {
        (**self).step_begins(task);
    }

    fn waits(&self, wait: Wait, at: Option<Place>, since: Instant) {
        (**self).waits(wait, at, since);
    }

    fn awaits(&self, task: Key, awaited: Key) -> Result<(), Exception> {
        (**self).awaits(task, awaited)
    }

    fn step_ends(&self, task: Key, end: StepEnd) {
        (**self).step_ends(task, end);
    }

    fn dropped(&self, task: Key) {
        (**self).dropped(task);
    }

    fn panicked(&self) {
        (**self).panicked();
    }

    fn unhandled(&self, what: &Unhandled<'_>) {
        (**self).unhandled(what);
    }

    fn order(&self, batch: &mut VecDeque<Key>) {
        (**self).order(batch);
    }

    fn batch_ends(&self, event_loop: &EventLoop) {
        (**self).batch_ends(event_loop);
    }

    fn idle(&self, event_loop: &EventLoop) -> io::Result<()> {
        (**self).idle(event_loop)
    }

    fn visit<'o>(&'o self, visit: &mut dyn FnMut(&'o dyn Any)) {
        (**self).visit(visit);
    }
}
