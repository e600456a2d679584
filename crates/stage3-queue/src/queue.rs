//! A queue that knows when all work is done.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::rc::Rc;

use stage2_coroutines::{Coroutine, EventLoop, Future, Wait, noting};

use crate::segments::Segments;

/// A queue whose getters wait for items and whose joiners wait for the end.
///
/// The invariant: `unfinished` is the number of items put in whose guards have
/// not been dropped; those in the queue plus those being worked on. Handles
/// are cheap to clone and stand for the same queue, which is unbounded: a
/// worker that had to wait for room to put in what it found, while all others
/// wait for the same, would wait for ever.
///
/// Items are handed out in the order in which they were put in, to getters in
/// the order in which they came.
pub struct JoinableQueue<T> {
    state: Rc<RefCell<State<T>>>,
}

// ANCHOR: state
struct State<T> {
    event_loop: EventLoop,
    /// In line, the first one first.
    items: Segments<T>,
    /// Who waits for an item, the longest first.
    getters: VecDeque<Future<()>>,
    /// How many of the items are promised to getters that were called and
    /// have not come yet. Nobody else may have those.
    promised: usize,
    unfinished: usize,
    joiners: Vec<Future<()>>,
}
// ANCHOR_END: state

impl<T> JoinableQueue<T> {
    /// An empty queue: nothing to get, and nothing to wait for.
    pub fn new(event_loop: &EventLoop) -> Self {
        let state = State {
            event_loop: event_loop.clone(),
            items: Segments::new(),
            getters: VecDeque::new(),
            promised: 0,
            unfinished: 0,
            joiners: Vec::new(),
        };
        Self { state: Rc::new(RefCell::new(state)) }
    }

    // ANCHOR: put_nowait
    /// Puts an item in, without ever having to wait.
    pub fn put_nowait(&self, item: T) {
        let mut state = self.state.borrow_mut();
        state.items.push_back(item);
        state.unfinished += 1;
        drop(state);
        self.call_getters();
    }
    // ANCHOR_END: put_nowait

    // ANCHOR: put_back
    /// Puts back what nobody can work on now, to be handed out next. It has
    /// counted as unfinished all the time, and goes on to do so.
    pub fn put_back(&self, item: Item<T>)
    where
        T: Clone,
    {
        let mut state = self.state.borrow_mut();
        state.items.push_front((*item).clone());
        state.unfinished += 1;
        drop(state);
        self.call_getters();
    }
    // ANCHOR_END: put_back

    // ANCHOR: get
    /// Waits for an item. The guard that comes with it must live as long as
    /// the work it stands for. A getter that is dropped while it waits takes
    /// nothing with it.
    ///
    /// # Panics
    /// When it would have to wait in another loop than the queue's own.
    #[track_caller]
    pub fn get(&self) -> impl Coroutine<Output = Item<T>> {
        let at = Location::caller();
        async move {
            let mut turn = Turn::new(self);
            if let Some(called) = turn.called.clone() {
                let event_loop = called.event_loop();
                let called = noting(&event_loop, Wait::Get, at, called).await;
                called.expect("a queue is used in its own loop");
            }
            turn.take()
        }
    }
    // ANCHOR_END: get

    // ANCHOR: join
    /// Waits until every item that was put in has been finished: at once if
    /// that is so now. It can be called again, and the queue used again, as
    /// often as you like.
    #[track_caller]
    pub fn join(&self) -> impl Coroutine<Output = ()> {
        let at = Location::caller();
        async move {
            if self.unfinished() > 0 {
                let event_loop = self.state.borrow().event_loop.clone();
                let all_done = Future::new(&event_loop);
                self.state.borrow_mut().joiners.push(all_done.clone());
                // Nobody but this joiner could cancel it.
                let _ = noting(&event_loop, Wait::Join, at, all_done).await;
            }
        }
    }
    // ANCHOR_END: join

    /// How many items wait for a getter.
    pub fn len(&self) -> usize {
        self.state.borrow().items.len()
    }

    /// Whether no item waits for a getter.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items were put in and are not finished.
    pub fn unfinished(&self) -> usize {
        self.state.borrow().unfinished
    }

    // ANCHOR: call_getters
    /// Promises items to getters, as long as there are both.
    fn call_getters(&self) {
        loop {
            let mut state = self.state.borrow_mut();
            if state.promised == state.items.len() {
                return;
            }
            let Some(getter) = state.getters.pop_front() else {
                return;
            };
            state.promised += 1;
            drop(state);
            // Refused by nobody: it was among the getters until now.
            let _ = getter.set_result(());
        }
    }
    // ANCHOR_END: call_getters

    // ANCHOR: task_done
    fn task_done(&self) {
        let mut state = self.state.borrow_mut();
        state.unfinished -= 1;
        if state.unfinished > 0 {
            return;
        }
        let joiners = std::mem::take(&mut state.joiners);
        drop(state);
        for joiner in joiners {
            // Refused by nobody: it was among the joiners until now.
            let _ = joiner.set_result(());
        }
    }
    // ANCHOR_END: task_done
}

// ANCHOR: turn
/// One getter's place in the order. Dropped before its item is taken, it
/// leaves the line, and passes on what was promised to it.
struct Turn<'q, T> {
    queue: &'q JoinableQueue<T>,
    /// Resolved when an item is promised; `None` if one was free at once.
    called: Option<Future<()>>,
    is_over: bool,
}
// ANCHOR_END: turn

impl<'q, T> Turn<'q, T> {
    // ANCHOR: new_turn
    fn new(queue: &'q JoinableQueue<T>) -> Self {
        let mut state = queue.state.borrow_mut();
        let called = if state.items.len() > state.promised {
            state.promised += 1;
            None
        } else {
            let called = Future::new(&state.event_loop);
            state.getters.push_back(called.clone());
            Some(called)
        };
        Self { queue, called, is_over: false }
    }
    // ANCHOR_END: new_turn

    fn is_promised(&self) -> bool {
        self.called.as_ref().is_none_or(Future::done)
    }

    fn take(&mut self) -> Item<T> {
        let mut state = self.queue.state.borrow_mut();
        let value = state.items.pop_front().expect("an item was promised");
        state.promised -= 1;
        self.is_over = true;
        Item { value, queue: self.queue.clone() }
    }
}

// ANCHOR: drop_turn
impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if self.is_promised() {
            self.queue.state.borrow_mut().promised -= 1;
            self.queue.call_getters();
        } else if let Some(called) = &self.called {
            let mut state = self.queue.state.borrow_mut();
            // Most often the first: whoever came first is cancelled first.
            if let Some(place) = state.getters.iter().position(|getter| getter.is(called)) {
                state.getters.remove(place);
            }
        }
    }
}
// ANCHOR_END: drop_turn

// ANCHOR: item
/// An item being worked on. Dropping it is the chapter's `task_done`.
pub struct Item<T> {
    value: T,
    queue: JoinableQueue<T>,
}
// ANCHOR_END: item

impl<T> Item<T> {
    /// The work is done: what dropping does, by its name in the chapter.
    pub fn task_done(self) {}
}

impl<T> Deref for Item<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

// ANCHOR: drop_item
impl<T> Drop for Item<T> {
    fn drop(&mut self) {
        self.queue.task_done();
    }
}
// ANCHOR_END: drop_item

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
