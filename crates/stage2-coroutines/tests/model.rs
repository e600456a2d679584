//! Random programs against what must hold of any program.
//!
//! A program is a few tasks, each a list of operations on the same few futures,
//! on a queue and on each other. While it runs, everything that an operation
//! tells is compared with the book that the test keeps of who did what. When
//! nothing can happen any more, whoever still waits must have a reason: what he
//! waits for is not there. (A lost wake-up is a task that waits for what is.)
#![allow(clippy::unwrap_used, missing_docs)]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::io::ErrorKind;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use selector_core::VirtualTime;
use stage2_coroutines::{
    CallbackId, Coroutine, EventLoop, Exception, Future, InvalidState, ReturnWhen, Task,
    as_completed, gather, gather_outcomes, shield, sleep, wait, wait_for, yield_now,
};
use transport::system_look_up;

/// How many futures belong to no task. They have the first numbers; the tasks
/// have the next ones, since a task is a future.
const FUTURES: usize = 4;
/// No program takes as many steps, unless somebody wakes in vain.
const MOST_STEPS: u32 = 10_000;

#[derive(Clone, Debug)]
enum Op {
    Yield,
    Sleep(u64),
    Await(usize),
    AwaitShielded(usize),
    WaitFor(usize, u64),
    Gather(Vec<usize>),
    GatherOutcomes(Vec<usize>),
    Wait(Vec<usize>, ReturnWhen, Option<u64>),
    AsCompleted(Vec<usize>),
    SetResult(usize),
    SetException(usize),
    Cancel(usize),
    SetResultLater(usize, u64),
    /// When the first is done, resolve the second.
    AddCallback(usize, usize),
    RemoveCallback,
    SpawnNext,
    Put,
    Get,
    Panic,
}

fn op() -> impl Strategy<Value = Op> {
    let any = 0..2 * FUTURES;
    let future = 0..FUTURES;
    let several = prop::collection::btree_set(any.clone(), 0..4)
        .prop_map(|set| set.into_iter().collect::<Vec<usize>>());
    let return_when = prop_oneof![
        Just(ReturnWhen::FirstCompleted),
        Just(ReturnWhen::FirstException),
        Just(ReturnWhen::AllCompleted),
    ];
    let time = 0..9_u64;
    prop_oneof![
        2 => Just(Op::Yield),
        2 => time.clone().prop_map(Op::Sleep),
        3 => any.clone().prop_map(Op::Await),
        1 => any.clone().prop_map(Op::AwaitShielded),
        2 => (any.clone(), time.clone()).prop_map(|(of, ms)| Op::WaitFor(of, ms)),
        1 => several.clone().prop_map(Op::Gather),
        1 => several.clone().prop_map(Op::GatherOutcomes),
        2 => (several.clone(), return_when, prop::option::of(time.clone()))
            .prop_map(|(of, when, ms)| Op::Wait(of, when, ms)),
        1 => several.prop_map(Op::AsCompleted),
        4 => future.clone().prop_map(Op::SetResult),
        1 => future.clone().prop_map(Op::SetException),
        2 => any.clone().prop_map(Op::Cancel),
        1 => (future.clone(), time).prop_map(|(of, ms)| Op::SetResultLater(of, ms)),
        2 => (any, future).prop_map(|(of, then)| Op::AddCallback(of, then)),
        1 => Just(Op::RemoveCallback),
        2 => Just(Op::SpawnNext),
        2 => Just(Op::Put),
        2 => Just(Op::Get),
        1 => Just(Op::Panic),
    ]
}

/// How a future ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Result(u32),
    Raised,
    Panicked,
    Cancelled,
}

/// What a task waits for.
#[derive(Clone, Debug)]
enum Waits {
    /// Nothing, or something that is sure to come.
    NotForLong,
    For(usize),
    Gather(Vec<usize>),
    All(Vec<usize>),
    Some(Vec<usize>, ReturnWhen),
    AnotherOf(Vec<usize>, usize),
    Item,
}

/// What the test knows of one future.
struct Entry {
    future: Option<Future<u32>>,
    fate: Option<Fate>,
    /// Whether somebody has got the result.
    is_taken: bool,
    /// Whether somebody may have got it and not lived to tell.
    may_be_taken: bool,
    /// Whether somebody has gathered it, or waited with a limit: who gives up
    /// cancels it.
    may_be_cancelled: bool,
    waits: Waits,
    /// Whether its coroutine is no more, if it is a task.
    is_dropped: bool,
}

#[derive(Debug)]
struct Callback {
    of: usize,
    id: Option<CallbackId>,
    calls: u32,
    is_removed: bool,
}

struct Book {
    event_loop: EventLoop,
    programs: Vec<Vec<Op>>,
    entries: RefCell<Vec<Entry>>,
    callbacks: RefCell<Vec<Callback>>,
    items: RefCell<VecDeque<u32>>,
    getters: RefCell<Vec<Future<()>>>,
    put: Cell<u32>,
    got: RefCell<Vec<u32>>,
    spawned: Cell<usize>,
    steps: Cell<u32>,
    results: Cell<u32>,
    faults: RefCell<Vec<String>>,
}

impl Book {
    fn new(event_loop: &EventLoop, programs: Vec<Vec<Op>>) -> Rc<Self> {
        let entry = |future| Entry {
            future,
            fate: None,
            is_taken: false,
            may_be_taken: false,
            may_be_cancelled: false,
            waits: Waits::NotForLong,
            is_dropped: false,
        };
        let futures = (0..FUTURES).map(|_| entry(Some(Future::new(event_loop))));
        let entries = futures.chain(programs.iter().map(|_| entry(None))).collect();
        Rc::new(Self {
            event_loop: event_loop.clone(),
            programs,
            entries: RefCell::new(entries),
            callbacks: RefCell::default(),
            items: RefCell::default(),
            getters: RefCell::default(),
            put: Cell::new(0),
            got: RefCell::default(),
            spawned: Cell::new(0),
            steps: Cell::new(0),
            results: Cell::new(0),
            faults: RefCell::default(),
        })
    }

    /// A panic would be the outcome of a task, so a fault is written down.
    fn check(&self, is_so: bool, what: &str, about: impl Debug) {
        if !is_so {
            self.faults.borrow_mut().push(format!("{what}: {about:?}"));
        }
    }

    fn entry<R>(&self, of: usize, look: impl FnOnce(&mut Entry) -> R) -> R {
        look(&mut self.entries.borrow_mut()[of])
    }

    /// The future of this number, unless its task has not begun.
    fn future(&self, of: usize) -> Option<Future<u32>> {
        self.entries.borrow().get(of)?.future.clone()
    }

    fn futures(&self, of: &[usize]) -> (Vec<usize>, Vec<Future<u32>>) {
        of.iter().filter_map(|&of| Some((of, self.future(of)?))).unzip()
    }

    /// How it ended, if it has. It may have been cancelled by whoever gave up
    /// waiting for it.
    fn fate(&self, of: usize) -> Option<Fate> {
        let future = self.future(of)?;
        let known = self.entry(of, |entry| entry.fate);
        if known.is_none() && future.cancelled() {
            let may_be = self.entry(of, |entry| entry.may_be_cancelled);
            self.check(may_be, "cancelled by nobody", of);
            self.entry(of, |entry| entry.fate = Some(Fate::Cancelled));
        }
        let fate = self.entry(of, |entry| entry.fate);
        // A task knows how it ends a moment before its future does.
        self.check(of >= FUTURES || fate.is_some() == future.done(), "done or not", (of, fate));
        fate
    }

    fn has_failed(&self, of: usize) -> bool {
        !matches!(self.fate(of), None | Some(Fate::Result(_)))
    }

    /// Somebody tried to end a future, and was accepted or not.
    fn decide(&self, of: usize, fate: Fate, accepted: bool) {
        let before = self.entry(of, |entry| entry.fate);
        if accepted {
            self.check(before.is_none(), "ended twice", (of, before, fate));
            self.entry(of, |entry| entry.fate = Some(fate));
        }
        self.check(accepted || self.fate(of).is_some(), "refused without reason", (of, fate));
    }

    fn set_result(&self, of: usize) {
        let result = self.results.replace(self.results.get() + 1);
        let accepted = self.future(of).unwrap().set_result(result).is_ok();
        self.decide(of, Fate::Result(result), accepted);
    }

    /// Somebody was told how a future ended.
    fn told(&self, of: usize, outcome: &Result<u32, Exception>) {
        let fate = match outcome {
            Ok(result) => Fate::Result(*result),
            Err(Exception::Raised(_)) => Fate::Raised,
            Err(Exception::Panicked(_)) => Fate::Panicked,
            Err(Exception::Cancelled) => Fate::Cancelled,
            Err(Exception::InvalidState(InvalidState::Taken)) => {
                let taken = self.entry(of, |entry| entry.is_taken || entry.may_be_taken);
                return self.check(taken, "taken by nobody", of);
            }
            Err(other) => return self.check(false, "not an outcome", (of, other)),
        };
        let known = self.fate(of);
        self.check(known == Some(fate), "told something else", (of, fate, known));
        if outcome.is_ok() {
            let before = self.entry(of, |entry| std::mem::replace(&mut entry.is_taken, true));
            self.check(!before, "given to two", of);
        }
    }

    /// Whether what [`wait`] is to wait for has come.
    fn is_settled(&self, of: &[usize], return_when: ReturnWhen) -> bool {
        let fates: Vec<_> = of.iter().map(|&of| self.fate(of)).collect();
        let one_is = |ends: fn(Option<Fate>) -> bool| fates.iter().any(|&fate| ends(fate));
        let settles = match return_when {
            ReturnWhen::FirstCompleted => one_is(|fate| fate.is_some()),
            ReturnWhen::FirstException => {
                one_is(|fate| matches!(fate, Some(Fate::Raised | Fate::Panicked)))
            }
            ReturnWhen::AllCompleted => false,
        };
        settles || fates.iter().all(Option::is_some)
    }

    /// When nothing happens any more: whether this task has a reason to wait.
    fn waits_with_reason(&self, waits: &Waits) -> bool {
        match waits {
            Waits::NotForLong => false,
            Waits::For(of) => self.fate(*of).is_none(),
            Waits::Gather(of) => {
                !self.is_settled(of, ReturnWhen::AllCompleted)
                    && !of.iter().any(|&of| self.has_failed(of))
            }
            Waits::All(of) => !self.is_settled(of, ReturnWhen::AllCompleted),
            Waits::Some(of, return_when) => !self.is_settled(of, *return_when),
            Waits::AnotherOf(of, told) => {
                let done = of.iter().filter(|&&of| self.fate(of).is_some()).count();
                done == *told && done < of.len()
            }
            Waits::Item => self.items.borrow().is_empty(),
        }
    }

    fn everybody_waits_with_reason(&self) {
        for task in FUTURES..FUTURES + self.spawned.get() {
            let (waits, is_dropped) =
                self.entry(task, |entry| (entry.waits.clone(), entry.is_dropped));
            let is_done = self.future(task).unwrap().done();
            if is_done {
                self.check(self.fate(task).is_some() && is_dropped, "done, but not ended", task);
            } else {
                self.check(self.waits_with_reason(&waits), "waits in vain", (task, waits));
            }
        }
        for callback in self.callbacks.borrow().iter() {
            let is_due = self.fate(callback.of).is_some() && !callback.is_removed;
            self.check(callback.calls == u32::from(is_due), "not called once", callback);
        }
        let got = self.got.borrow();
        let left = self.items.borrow();
        self.check(got.iter().chain(left.iter()).copied().eq(0..self.put.get()), "items", &got);
    }

    fn spawn_next(self: &Rc<Self>) {
        let number = self.spawned.get();
        if number == self.programs.len() {
            return;
        }
        self.spawned.set(number + 1);
        let task = FUTURES + number;
        let mark = MarkDropped { book: Rc::clone(self), task };
        let coroutine = run_program(Rc::clone(self), task);
        let watched = Watched { coroutine: Box::pin(coroutine), has_returned: false, mark };
        let spawned = Task::spawn(&self.event_loop, watched);
        self.entry(task, |entry| entry.future = Some(spawned.into()));
    }

    fn put(&self) {
        let item = self.put.replace(self.put.get() + 1);
        self.items.borrow_mut().push_back(item);
        for getter in self.getters.take() {
            // Refused by those who have stopped waiting.
            let _ = getter.set_result(());
        }
    }

    async fn get(&self) {
        loop {
            let item = self.items.borrow_mut().pop_front();
            if let Some(item) = item {
                return self.got.borrow_mut().push(item);
            }
            let getter = Future::new(&self.event_loop);
            self.getters.borrow_mut().push(getter.clone());
            getter.await.unwrap();
        }
    }

    fn add_callback(self: &Rc<Self>, of: usize, then: usize) {
        let Some(future) = self.future(of) else { return };
        let number = self.callbacks.borrow().len();
        let callback = Callback { of, id: None, calls: 0, is_removed: false };
        self.callbacks.borrow_mut().push(callback);
        let book = Rc::clone(self);
        let id = future.add_done_callback(move |_| {
            book.callbacks.borrow_mut()[number].calls += 1;
            book.set_result(then);
        });
        self.callbacks.borrow_mut()[number].id = Some(id);
    }

    fn remove_callback(&self) {
        let mut callbacks = self.callbacks.borrow_mut();
        let Some(last) = callbacks.last_mut() else { return };
        let (id, future) = (last.id.unwrap(), self.future(last.of).unwrap());
        let removed = future.remove_done_callback(id);
        let expected = usize::from(!future.done() && !last.is_removed);
        self.check(removed == expected, "removed", (&last, removed));
        last.is_removed |= removed == 1;
    }

    fn cancel(&self, me: usize, of: usize) {
        let Some(future) = self.future(of) else { return };
        let accepted = future.cancel();
        if accepted {
            self.entry(of, |entry| entry.may_be_cancelled = true);
        }
        self.check(accepted || self.fate(of).is_some(), "not cancelled", of);
        let is_dropped = of < FUTURES || self.entry(of, |entry| entry.is_dropped);
        self.check(!accepted || of == me || is_dropped, "cancelled and kept", of);
    }
}

/// Notes in the book when a task's coroutine is dropped.
struct MarkDropped {
    book: Rc<Book>,
    task: usize,
}

impl Drop for MarkDropped {
    fn drop(&mut self) {
        self.book.entry(self.task, |entry| entry.is_dropped = true);
    }
}

/// A coroutine whose every step is watched.
struct Watched<C> {
    coroutine: Pin<Box<C>>,
    has_returned: bool,
    mark: MarkDropped,
}

impl<C: Coroutine<Output = u32>> Coroutine for Watched<C> {
    type Output = u32;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u32> {
        let MarkDropped { book, task } = &self.mark;
        let (book, task) = (Rc::clone(book), *task);
        book.check(!self.has_returned, "stepped after it had returned", task);
        let is_done = book.future(task).unwrap().done();
        book.check(!is_done, "stepped after it was done", task);
        book.steps.set(book.steps.get() + 1);
        if book.steps.get() > MOST_STEPS {
            book.event_loop.stop();
        }
        let poll = self.coroutine.as_mut().poll(context);
        self.has_returned = poll.is_ready();
        poll
    }
}

async fn run_program(book: Rc<Book>, me: usize) -> u32 {
    for op in book.programs[me - FUTURES].clone() {
        run_op(&book, me, op).await;
        book.entry(me, |entry| entry.waits = Waits::NotForLong);
    }
    end(&book, me, Fate::Result(me as u32));
    me as u32
}

/// Notes how a task is about to end, unless it was cancelled in this very step.
fn end(book: &Book, me: usize, fate: Fate) {
    if book.fate(me).is_none() {
        book.entry(me, |entry| entry.fate = Some(fate));
    }
}

async fn run_op(book: &Rc<Book>, me: usize, op: Op) {
    let event_loop = &book.event_loop;
    let waits = |waits| book.entry(me, |entry| entry.waits = waits);
    let start = event_loop.now();
    let after = move |ms| start + Duration::from_millis(ms);
    match op {
        Op::Yield => yield_now(event_loop).await,
        Op::Sleep(ms) => {
            sleep(event_loop, Duration::from_millis(ms)).await;
            book.check(event_loop.now() == after(ms), "not on time", me);
        }
        Op::Await(of) => {
            let Some(future) = book.future(of) else { return };
            waits(Waits::For(of));
            match future.await {
                Err(Exception::InvalidState(InvalidState::AwaitsItself)) => {
                    book.check(of == me, "another one", of);
                }
                outcome => book.told(of, &outcome),
            }
        }
        Op::AwaitShielded(of) => {
            let Some(future) = book.future(of) else { return };
            book.entry(of, |entry| entry.may_be_taken = true);
            waits(Waits::For(of));
            book.told(of, &shield(future).await);
        }
        Op::WaitFor(of, ms) => {
            let Some(future) = book.future(of) else { return };
            book.entry(of, |entry| entry.may_be_cancelled = true);
            let outcome = wait_for(event_loop, future, Duration::from_millis(ms)).await;
            book.check(event_loop.now() <= after(ms), "waited too long", me);
            if let Err(Exception::TimedOut) = outcome {
                book.check(event_loop.now() == after(ms), "gave up early", me);
                book.check(book.fate(of) == Some(Fate::Cancelled), "and let it go on", of);
            } else {
                book.told(of, &outcome);
            }
        }
        Op::Gather(of) => run_gather(book, me, &of).await,
        Op::GatherOutcomes(of) => {
            let (of, futures) = book.futures(&of);
            of.iter().for_each(|&of| book.entry(of, |entry| entry.may_be_cancelled = true));
            waits(Waits::All(of.clone()));
            let outcomes = gather_outcomes(event_loop, futures).await;
            book.check(outcomes.len() == of.len(), "how many", outcomes.len());
            of.iter().zip(&outcomes).for_each(|(&of, outcome)| book.told(of, outcome));
        }
        Op::Wait(of, return_when, ms) => {
            let deadline = ms.map(after);
            run_wait(book, me, &of, return_when, deadline).await;
        }
        Op::AsCompleted(of) => {
            let (of, futures) = book.futures(&of);
            let mut left = of.clone();
            let mut completed = as_completed(event_loop, futures, None);
            waits(Waits::AnotherOf(of.clone(), 0));
            while let Some(outcome) = completed.next().await {
                // Which one it is of it does not tell.
                let is_it = |of: &usize| could_be(book, *of, &outcome);
                let place = left.iter().position(is_it);
                book.check(place.is_some(), "completed, but none of these", (&left, &outcome));
                let Some(place) = place else { return };
                book.told(left.remove(place), &outcome);
                waits(Waits::AnotherOf(of.clone(), of.len() - left.len()));
            }
            book.check(left.is_empty(), "left out", left);
        }
        Op::SetResult(of) => book.set_result(of),
        Op::SetException(of) => {
            let accepted = book.future(of).unwrap().set_exception("raised").is_ok();
            book.decide(of, Fate::Raised, accepted);
        }
        Op::Cancel(of) => book.cancel(me, of),
        Op::SetResultLater(of, ms) => {
            let later = Rc::clone(book);
            event_loop.call_later(Duration::from_millis(ms), move || {
                later.check(later.event_loop.now() == after(ms), "called on time", of);
                later.set_result(of);
            });
        }
        Op::AddCallback(of, then) => book.add_callback(of, then),
        Op::RemoveCallback => book.remove_callback(),
        Op::SpawnNext => book.spawn_next(),
        Op::Put => book.put(),
        Op::Get => {
            waits(Waits::Item);
            book.get().await;
        }
        Op::Panic => {
            end(book, me, Fate::Panicked);
            std::panic::resume_unwind(Box::new("on purpose"));
        }
    }
}

fn could_be(book: &Book, of: usize, outcome: &Result<u32, Exception>) -> bool {
    let is_taken = book.entry(of, |entry| entry.is_taken || entry.may_be_taken);
    match (book.fate(of), outcome) {
        (Some(Fate::Result(fate)), Ok(result)) => fate == *result,
        (Some(Fate::Result(_)), Err(Exception::InvalidState(InvalidState::Taken))) => is_taken,
        (Some(Fate::Raised), Err(Exception::Raised(_)))
        | (Some(Fate::Panicked), Err(Exception::Panicked(_)))
        | (Some(Fate::Cancelled), Err(Exception::Cancelled)) => true,
        _ => false,
    }
}

async fn run_gather(book: &Rc<Book>, me: usize, of: &[usize]) {
    let (of, futures) = book.futures(of);
    of.iter().for_each(|&of| book.entry(of, |entry| entry.may_be_cancelled = true));
    book.entry(me, |entry| entry.waits = Waits::Gather(of.clone()));
    match gather(&book.event_loop, futures).await {
        Ok(results) => {
            book.check(results.len() == of.len(), "how many", results.len());
            of.iter().zip(results).for_each(|(&of, result)| book.told(of, &Ok(result)));
        }
        Err(Exception::InvalidState(InvalidState::Taken)) => {
            // The results of those before it are lost.
            of.iter().for_each(|&of| book.entry(of, |entry| entry.may_be_taken = true));
        }
        Err(exception) => {
            let first = of.iter().copied().find(|&of| book.has_failed(of));
            book.check(first.is_some(), "nobody failed", &of);
            if let Some(first) = first {
                book.told(first, &Err(exception));
            }
        }
    }
}

async fn run_wait(
    book: &Rc<Book>,
    me: usize,
    of: &[usize],
    return_when: ReturnWhen,
    deadline: Option<Instant>,
) {
    let event_loop = &book.event_loop;
    let (of, futures) = book.futures(of);
    if deadline.is_none() {
        book.entry(me, |entry| entry.waits = Waits::Some(of.clone(), return_when));
    }
    let timeout = deadline.map(|at| at - event_loop.now());
    let (done, left) = wait(event_loop, futures, return_when, timeout).await;
    let is_late = deadline.is_some_and(|at| event_loop.now() == at);
    book.check(is_late || book.is_settled(&of, return_when), "returned early", &of);
    book.check(done.iter().all(Future::done), "called done", &of);
    book.check(!left.iter().any(Future::done), "called pending", &of);
    book.check(done.len() + left.len() == of.len(), "all of them", &of);
}

fn run_model(programs: Vec<Vec<Op>>, at_first: usize) -> Result<(), TestCaseError> {
    let event_loop = EventLoop::in_world(VirtualTime::new(), Arc::new(system_look_up));
    let book = Book::new(&event_loop, programs);
    (0..at_first).for_each(|_| book.spawn_next());
    let run_until_nothing_happens = || {
        let ended = event_loop.run_forever().map_err(|error| error.kind());
        prop_assert_eq!(ended, Err(ErrorKind::Deadlock), "too many steps");
        book.everybody_waits_with_reason();
        prop_assert_eq!(event_loop.pending_timers(), 0);
        let faults = book.faults.take();
        prop_assert!(faults.is_empty(), "{faults:#?}");
        Ok(())
    };
    run_until_nothing_happens()?;
    // What has not come by itself comes now.
    (0..FUTURES).for_each(|of| book.set_result(of));
    (0..book.programs.len() * 9).for_each(|_| book.put());
    run_until_nothing_happens()?;

    event_loop.close();
    prop_assert_eq!((event_loop.pending_tasks(), event_loop.pending_timers()), (0, 0));
    let spawned = FUTURES + book.spawned.get();
    for task in FUTURES..spawned {
        prop_assert!(book.entry(task, |entry| entry.is_dropped), "task {task} is left");
    }
    book.entries.borrow_mut().iter_mut().for_each(|entry| entry.future = None);
    prop_assert_eq!(Rc::strong_count(&book), 1, "somebody still holds the book");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whoever_waits_has_a_reason_and_everybody_is_told_the_truth(
        programs in prop::collection::vec(prop::collection::vec(op(), 0..9), 1..=FUTURES),
        at_first in 1..=FUTURES,
    ) {
        run_model(programs, at_first)?;
    }
}
