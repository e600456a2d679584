//! A work queue that knows when all work is done.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::rc::Rc;

use stage2_coroutines::{Coroutine, EventLoop, Future, with_wait};

/// A work queue: getters wait for an item, joiners wait until all work is done.
///
/// The invariant: `unfinished` is the number of items in the queue, plus those
/// being worked on ([`Item`]), plus those that will be put in ([`Reservation`]).
/// Handles are cheap to clone and refer to the same queue. The
/// queue is unbounded: with a bound, all workers could wait at once for room to
/// put in the URLs that they found, and none would ever get it.
///
/// Items are handed out in the order in which they were put in. Getters that wait are
/// woken in the order in which they came. A getter that finds more items than are
/// promised takes the first one at once, before those that were woken.
pub struct JoinableQueue<T> {
    state: Rc<RefCell<State<T>>>,
}

// ANCHOR: state
struct State<T> {
    event_loop: EventLoop,
    /// Items that wait for a getter, the oldest first.
    items: VecDeque<T>,
    /// Getters that wait for an item, the one that has waited longest first.
    getters: VecDeque<Future<()>>,
    /// Number of items promised to getters that were woken and have not been
    /// polled yet. No other getter may take those.
    promised: usize,
    unfinished: usize,
    joiners: Vec<Future<()>>,
}
// ANCHOR_END: state

impl<T> JoinableQueue<T> {
    /// Creates an empty queue: nothing to get, and nothing to wait for.
    pub fn new(event_loop: &EventLoop) -> Self {
        let state = State {
            event_loop: event_loop.clone(),
            items: VecDeque::new(),
            getters: VecDeque::new(),
            promised: 0,
            unfinished: 0,
            joiners: Vec::new(),
        };
        let queue = Self { state: Rc::new(RefCell::new(state)) };
        queue.trace("new");
        queue
    }

    // ANCHOR: put_nowait
    /// Puts an item in. Never waits.
    pub fn put_nowait(&self, item: T) {
        self.reserve().put(item);
    }
    // ANCHOR_END: put_nowait

    // ANCHOR: reserve
    /// Reserves a place for an item that cannot be put in yet. The reservation
    /// counts as unfinished, so [`JoinableQueue::join`] waits for it.
    pub fn reserve(&self) -> Reservation<T> {
        self.state.borrow_mut().unfinished += 1;
        self.trace("reserve");
        Reservation(Some(self.clone()))
    }
    // ANCHOR_END: reserve

    // ANCHOR: get
    /// Waits for an item. The guard that holds it must live as long as the work
    /// on the item. A getter that is dropped while it waits loses no item.
    ///
    /// # Panics
    /// When it would have to wait in another loop than the queue's own.
    #[track_caller]
    pub fn get(&self) -> impl Coroutine<Output = Item<T>> {
        let at = Location::caller();
        async move {
            let mut getter = Getter::new(self);
            if let Some(promise) = getter.promise.clone() {
                let event_loop = promise.event_loop();
                let wait = event_loop.other_wait("waiting for an item of a queue");
                let promise = with_wait(&event_loop, wait, at, promise).await;
                promise.expect("a queue is used in its own loop");
            }
            getter.take()
        }
    }
    // ANCHOR_END: get

    // ANCHOR: join
    /// Waits until every item that was put in has been finished; returns at once
    /// if none is unfinished. Afterwards the queue can be used again, and joined
    /// again, as often as you like.
    ///
    /// # Panics
    /// When it would have to wait in another loop than the queue's own.
    #[track_caller]
    pub fn join(&self) -> impl Coroutine<Output = ()> {
        let at = Location::caller();
        async move {
            self.trace("join");
            if self.unfinished() > 0 {
                let event_loop = self.state.borrow().event_loop.clone();
                let all_done = Future::new(&event_loop);
                self.state.borrow_mut().joiners.push(all_done.clone());
                let what = "waiting for all work on a queue to be done";
                let wait = event_loop.other_wait(what);
                let done = with_wait(&event_loop, wait, at, all_done).await;
                // Only this coroutine could cancel it.
                done.expect("a queue is used in its own loop");
            }
        }
    }
    // ANCHOR_END: join

    /// Returns the number of items that wait for a getter.
    pub fn len(&self) -> usize {
        self.state.borrow().items.len()
    }

    /// Returns true if no item waits for a getter.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of items that were put in or reserved, and are not finished.
    pub fn unfinished(&self) -> usize {
        self.state.borrow().unfinished
    }

    /// Writes an operation of this queue to the trace.
    fn trace(&self, operation: &'static str) {
        if trace::is_on() {
            trace::queue(&*self.state, operation, self.unfinished());
        }
    }

    // ANCHOR: wake_getters
    /// Promises items to waiting getters and wakes them, as long as there are
    /// both.
    fn wake_getters(&self) {
        loop {
            let mut state = self.state.borrow_mut();
            let is_one_free = state.items.len() > state.promised;
            let getter = if is_one_free { state.getters.pop_front() } else { None };
            let Some(getter) = getter else { return };
            state.promised += 1;
            drop(state);
            // Cannot fail: the future was among the getters until now.
            let _ = getter.set_result(());
        }
    }
    // ANCHOR_END: wake_getters

    // ANCHOR: task_done
    fn task_done(&self) {
        let mut state = self.state.borrow_mut();
        state.unfinished -= 1;
        trace::queue(&*self.state, "task_done", state.unfinished);
        if state.unfinished > 0 {
            return;
        }
        let joiners = std::mem::take(&mut state.joiners);
        drop(state);
        for all_done in joiners {
            // Cannot fail: the future was among the joiners until now.
            let _ = all_done.set_result(());
        }
    }
    // ANCHOR_END: task_done
}

// ANCHOR: getter
/// One waiting call of [`JoinableQueue::get`]. Dropped before it has taken its
/// item, it leaves the queue of getters and passes on the item promised to it.
struct Getter<'q, T> {
    queue: &'q JoinableQueue<T>,
    /// Future resolved when an item is promised; `None` if one was free at once.
    promise: Option<Future<()>>,
    has_taken: bool,
}
// ANCHOR_END: getter

impl<'q, T> Getter<'q, T> {
    // ANCHOR: new_getter
    fn new(queue: &'q JoinableQueue<T>) -> Self {
        let mut state = queue.state.borrow_mut();
        let promise = if state.items.len() > state.promised {
            state.promised += 1;
            None
        } else {
            let promise = Future::new(&state.event_loop);
            state.getters.push_back(promise.clone());
            Some(promise)
        };
        Self { queue, promise, has_taken: false }
    }
    // ANCHOR_END: new_getter

    fn is_promised(&self) -> bool {
        self.promise.as_ref().is_none_or(Future::done)
    }

    fn take(&mut self) -> Item<T> {
        let mut state = self.queue.state.borrow_mut();
        let value = state.items.pop_front().expect("an item was promised");
        if state.items.is_empty() {
            // A queue that was long keeps memory for a hundred items.
            state.items.shrink_to(100);
        }
        state.promised -= 1;
        self.has_taken = true;
        drop(state);
        self.queue.trace("get");
        Item { value, reservation: Reservation(Some(self.queue.clone())) }
    }
}

// ANCHOR: drop_getter
impl<T> Drop for Getter<'_, T> {
    fn drop(&mut self) {
        if !self.has_taken {
            self.leave();
        }
    }
}

impl<T> Getter<'_, T> {
    /// Passes on the item promised to it, or leaves the queue of getters.
    fn leave(&self) {
        if self.is_promised() {
            self.queue.state.borrow_mut().promised -= 1;
            self.queue.wake_getters();
        } else if let Some(promise) = &self.promise {
            let mut state = self.queue.state.borrow_mut();
            // Usually the first one: getters are mostly cancelled in the order in
            // which they came.
            if let Some(index) = state.getters.iter().position(|it| it.is(promise)) {
                state.getters.remove(index);
            }
        }
    }
}
// ANCHOR_END: drop_getter

// ANCHOR: reservation
/// A place in the queue for an item that is put in later. Dropped instead, it
/// counts as done.
pub struct Reservation<T>(Option<JoinableQueue<T>>);

impl<T> Reservation<T> {
    /// Puts the item in.
    pub fn put(mut self, item: T) {
        if let Some(queue) = self.0.take() {
            queue.state.borrow_mut().items.push_back(item);
            queue.trace("put");
            queue.wake_getters();
        }
    }
}

impl<T> Drop for Reservation<T> {
    fn drop(&mut self) {
        if let Some(queue) = &self.0 {
            queue.task_done();
        }
    }
}
// ANCHOR_END: reservation

// ANCHOR: item
/// An item being worked on. Dropping it is the chapter's `task_done`.
pub struct Item<T> {
    value: T,
    reservation: Reservation<T>,
}
// ANCHOR_END: item

impl<T> Item<T> {
    /// Marks the work as done: the same as dropping the item, by its name in the
    /// chapter.
    pub fn task_done(self) {}

    /// Takes the item apart: the work is not done, and the value will be put in
    /// again, or another one in its place.
    pub fn into_parts(self) -> (T, Reservation<T>) {
        (self.value, self.reservation)
    }
}

impl<T> Deref for Item<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Clone for JoinableQueue<T> {
    fn clone(&self) -> Self {
        Self { state: Rc::clone(&self.state) }
    }
}

impl<T> fmt::Debug for JoinableQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.borrow();
        f.debug_struct("JoinableQueue")
            .field("items", &state.items.len())
            .field("getters", &state.getters.len())
            .field("unfinished", &state.unfinished)
            .finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for Item<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Item").field(&self.value).finish()
    }
}
