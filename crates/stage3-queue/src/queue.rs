//! A work queue that knows when all work is done.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

use stage2_coroutines::sync::{Event, Semaphore};
use stage2_coroutines::{Coroutine, EventLoop};

/// A work queue: getters wait for an item, joiners wait until all work is done.
///
/// The invariant: `unfinished` is the number of items in the queue, plus those
/// being worked on ([`Item`]), plus those that will be put in ([`Reservation`]).
/// Handles are cheap to clone and refer to the same queue. The
/// queue is unbounded: with a bound, all workers could wait at once for room to
/// put in the URLs that they found, and none would ever get it.
///
/// Items never move: they stay in their order until somebody takes the first one. What
/// moves is the right to take one. So items come out in the order in which they were put
/// in, whoever is cancelled meanwhile.
pub struct JoinableQueue<T> {
    state: Rc<State<T>>,
}

// ANCHOR: state
struct State<T> {
    /// The items, the oldest first.
    items: RefCell<VecDeque<T>>,
    /// A permit for each item that no getter has been promised yet.
    available: Semaphore,
    unfinished: Cell<usize>,
    /// Set while nothing is unfinished.
    all_done: Event,
}
// ANCHOR_END: state

impl<T> JoinableQueue<T> {
    /// Creates an empty queue: nothing to get, and nothing to wait for.
    pub fn new(event_loop: &EventLoop) -> Self {
        let all_done = Event::described(event_loop, &"waiting for all work on a queue to be done");
        all_done.set();
        let state = State {
            items: RefCell::default(),
            available: Semaphore::described(event_loop, 0, &"waiting for an item of a queue"),
            unfinished: Cell::new(0),
            all_done,
        };
        let queue = Self { state: Rc::new(state) };
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
        self.state.unfinished.update(|unfinished| unfinished + 1);
        self.state.all_done.clear();
        self.trace("reserve");
        Reservation(Some(self.clone()))
    }
    // ANCHOR_END: reserve

    // ANCHOR: get
    /// Waits for an item. Keep the returned guard until the work is done: dropping it marks
    /// the item as done. A getter that is dropped while it waits loses no item.
    ///
    /// # Panics
    /// When it has to wait in another loop than the queue's own.
    #[track_caller]
    pub fn get(&self) -> impl Coroutine<Output = Item<T>> {
        let permit = self.state.available.acquire();
        async move {
            // Used up, and not given back: the item goes with it.
            permit.await.forget();
            self.take()
        }
    }
    // ANCHOR_END: get

    /// Takes the first item. The caller has used up a permit. The item counts as unfinished
    /// since it was put in, and from now on its guard stands for that.
    fn take(&self) -> Item<T> {
        let mut items = self.state.items.borrow_mut();
        let value = items.pop_front().expect("there is an item for every permit");
        if items.is_empty() {
            // A queue that was long keeps memory for a hundred items.
            items.shrink_to(100);
        }
        drop(items);
        self.trace("get");
        Item { value, reservation: Reservation(Some(self.clone())) }
    }

    // ANCHOR: join
    /// Waits until every item that was put in has been finished; returns at once
    /// if none is unfinished. Afterwards the queue can be used again, and joined
    /// again, as often as you like.
    ///
    /// # Panics
    /// When it has to wait in another loop than the queue's own.
    #[track_caller]
    pub fn join(&self) -> impl Coroutine<Output = ()> {
        let all_done = self.state.all_done.wait();
        async move {
            self.trace("join");
            all_done.await;
        }
    }
    // ANCHOR_END: join

    /// Returns the number of items that wait for a getter.
    pub fn len(&self) -> usize {
        self.state.items.borrow().len()
    }

    /// Returns true if no item waits for a getter.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of items that were put in or reserved, and are not finished.
    pub fn unfinished(&self) -> usize {
        self.state.unfinished.get()
    }

    /// Writes an operation of this queue to the trace.
    fn trace(&self, operation: &'static str) {
        if trace::is_on() {
            trace::queue(&*self.state, operation, self.unfinished());
        }
    }

    // ANCHOR: task_done
    fn task_done(&self) {
        self.state.unfinished.update(|unfinished| unfinished - 1);
        self.trace("task_done");
        if self.unfinished() == 0 {
            self.state.all_done.set();
        }
    }
    // ANCHOR_END: task_done
}

// ANCHOR: reservation
/// A place in the queue for an item that is put in later. Dropped instead, it
/// counts as done.
pub struct Reservation<T>(Option<JoinableQueue<T>>);

impl<T> Reservation<T> {
    /// Puts the item in.
    pub fn put(mut self, item: T) {
        if let Some(queue) = self.0.take() {
            queue.state.items.borrow_mut().push_back(item);
            queue.trace("put");
            queue.state.available.release();
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
        f.debug_struct("JoinableQueue")
            .field("items", &self.len())
            .field("getters", &self.state.available.num_waiting())
            .field("unfinished", &self.unfinished())
            .finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for Item<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Item").field(&self.value).finish()
    }
}
