//! Property test of the runtime: random programs against a model.
//!
//! A program is a few tasks, each a list of operations on the same few futures,
//! on a queue and on each other. While it runs, every outcome that an operation
//! returns is compared with the model, in which the test records every
//! operation. When nothing can happen any more, every task that still waits must
//! have a reason: the event that it waits for has not happened. (A task that
//! waits for an event that has happened is a lost wake-up.)

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::io::ErrorKind;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use asyncio::prelude::*;
use asyncio::{
    AnyFuture, CallbackId, ReturnWhen, as_completed, gather, gather_outcomes, shield, wait,
    wait_for,
};
use proptest::prelude::*;
use selector_core::VirtualClock;
use stage2_coroutines::{
    Coroutine, EventLoop, Exception, Future, Inspect, InvalidState, Task, runtime_on, sleep,
    yield_now,
};
use transport::system_lookup;

/// The number of futures that belong to no task. They have the first numbers;
/// the tasks have the next ones, since a task is a future.
const FUTURES: usize = 4;
/// A number of steps that no program reaches, unless tasks are woken in vain.
const MAX_STEPS: u32 = 10_000;

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
    /// Adds a callback to the first future that resolves the second.
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

/// The way in which a future ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FinalState {
    Result(u32),
    Raised,
    Panicked,
    Cancelled,
}

/// The wait of a task.
#[derive(Clone, Debug)]
enum Waits {
    /// No wait, or one that is sure to end.
    NotForLong,
    For(usize),
    Gather(Vec<usize>),
    All(Vec<usize>),
    Some(Vec<usize>, ReturnWhen),
    AnotherOf(Vec<usize>, usize),
    Item,
}

/// The record of one future in the model.
struct Record {
    future: Option<AnyFuture<u32>>,
    final_state: Option<FinalState>,
    /// True if an operation has moved the result out.
    is_taken: bool,
    /// True if the future was passed to an operation that cancels it when it
    /// stops waiting.
    may_be_cancelled: bool,
    waits: Waits,
    /// True if this is a task and its coroutine has been dropped.
    is_dropped: bool,
}

#[derive(Debug)]
struct Callback {
    of: usize,
    id: Option<CallbackId>,
    calls: u32,
    is_removed: bool,
}

struct Model {
    event_loop: EventLoop,
    programs: Vec<Vec<Op>>,
    records: RefCell<Vec<Record>>,
    callbacks: RefCell<Vec<Callback>>,
    items: RefCell<VecDeque<u32>>,
    getters: RefCell<Vec<Future<()>>>,
    put: Cell<u32>,
    got: RefCell<Vec<u32>>,
    spawned: Cell<usize>,
    steps: Cell<u32>,
    results: Cell<u32>,
    faults: RefCell<Vec<String>>,
    /// The futures that are done, in the order in which they ended.
    ended: RefCell<Vec<usize>>,
}

impl Model {
    fn new(event_loop: &EventLoop, programs: Vec<Vec<Op>>) -> Rc<Self> {
        let record = |future| Record {
            future,
            final_state: None,
            is_taken: false,
            may_be_cancelled: false,
            waits: Waits::NotForLong,
            is_dropped: false,
        };
        let futures = (0..FUTURES).map(|_| record(Some(Future::new(event_loop).into())));
        let records = futures.chain(programs.iter().map(|_| record(None))).collect();
        let model = Rc::new(Self {
            event_loop: event_loop.clone(),
            programs,
            records: RefCell::new(records),
            callbacks: RefCell::default(),
            items: RefCell::default(),
            getters: RefCell::default(),
            put: Cell::new(0),
            got: RefCell::default(),
            spawned: Cell::new(0),
            steps: Cell::new(0),
            results: Cell::new(0),
            faults: RefCell::default(),
            ended: RefCell::default(),
        });
        (0..FUTURES).for_each(|of| model.watch_end(of));
        model
    }

    /// Has the end of a future recorded, before other callbacks of the future are
    /// called.
    fn watch_end(self: &Rc<Self>, of: usize) {
        let model = Rc::clone(self);
        let record = move |_: &Future<u32>| model.ended.borrow_mut().push(of);
        self.future(of).unwrap().add_done_callback(record);
    }

    /// Returns true if a task waits for itself, through tasks that each wait for one
    /// other and are not done.
    fn is_in_circle(&self, task: usize) -> bool {
        let next = |&of: &usize| match self.record(of, |record| record.waits.clone()) {
            Waits::For(next) if self.final_state(of).is_none() => Some(next),
            _ => None,
        };
        let chain = std::iter::successors(next(&task), next).take(2 * FUTURES);
        chain.into_iter().any(|of| of == task)
    }

    /// Records a fault. (A panic would only be the outcome of a task.)
    fn check(&self, is_so: bool, what: &str, about: impl Debug) {
        if !is_so {
            self.faults.borrow_mut().push(format!("{what}: {about:?}"));
        }
    }

    fn record<R>(&self, of: usize, look: impl FnOnce(&mut Record) -> R) -> R {
        look(&mut self.records.borrow_mut()[of])
    }

    /// Returns the future of this number, unless its task has not begun.
    fn future(&self, of: usize) -> Option<AnyFuture<u32>> {
        self.records.borrow().get(of)?.future.clone()
    }

    fn futures(&self, of: &[usize]) -> (Vec<usize>, Vec<AnyFuture<u32>>) {
        of.iter().filter_map(|&of| Some((of, self.future(of)?))).unzip()
    }

    /// Returns the way in which a future ended, if it has. It may have been
    /// cancelled by an operation that stopped waiting for it.
    fn final_state(&self, of: usize) -> Option<FinalState> {
        let future = self.future(of)?;
        let known = self.record(of, |record| record.final_state);
        if known.is_none() && future.cancelled() {
            let may_be = self.record(of, |record| record.may_be_cancelled);
            self.check(may_be, "cancelled by nobody", of);
            self.record(of, |record| record.final_state = Some(FinalState::Cancelled));
        }
        let final_state = self.record(of, |record| record.final_state);
        // A task records its end shortly before its future is done.
        self.check(
            of >= FUTURES || final_state.is_some() == future.done(),
            "done or not",
            (of, final_state),
        );
        final_state
    }

    fn has_failed(&self, of: usize) -> bool {
        !matches!(self.final_state(of), None | Some(FinalState::Result(_)))
    }

    /// Records an attempt to end a future, which was accepted or refused.
    fn record_end(&self, of: usize, final_state: FinalState, accepted: bool) {
        let before = self.record(of, |record| record.final_state);
        if accepted {
            self.check(before.is_none(), "ended twice", (of, before, final_state));
            self.record(of, |record| record.final_state = Some(final_state));
        }
        self.check(
            accepted || self.final_state(of).is_some(),
            "refused without reason",
            (of, final_state),
        );
    }

    fn set_result(&self, of: usize) {
        let result = self.results.replace(self.results.get() + 1);
        let accepted = self.future(of).unwrap().as_future().set_result(result).is_ok();
        self.record_end(of, FinalState::Result(result), accepted);
    }

    /// Compares an outcome that an operation returned with the model.
    fn check_outcome(&self, of: usize, outcome: &Result<u32, Exception>) {
        let final_state = match outcome {
            Ok(result) => FinalState::Result(*result),
            Err(Exception::Raised(_)) => FinalState::Raised,
            Err(Exception::Panicked(_)) => FinalState::Panicked,
            Err(Exception::Cancelled) => FinalState::Cancelled,
            Err(Exception::InvalidState(InvalidState::Taken)) => {
                let taken = self.record(of, |record| record.is_taken);
                return self.check(taken, "taken by nobody", of);
            }
            Err(other) => return self.check(false, "not an outcome", (of, other)),
        };
        let known = self.final_state(of);
        self.check(known == Some(final_state), "told something else", (of, final_state, known));
    }

    /// As `check_outcome`, for an operation that moves the result out.
    fn check_moved(&self, of: usize, outcome: &Result<u32, Exception>) {
        self.check_outcome(of, outcome);
        if outcome.is_ok() {
            let before = self.record(of, |record| std::mem::replace(&mut record.is_taken, true));
            self.check(!before, "given to two", of);
        }
    }

    /// Returns true if [`wait`] has no reason to wait for these futures.
    fn is_settled(&self, of: &[usize], return_when: ReturnWhen) -> bool {
        let final_states: Vec<_> = of.iter().map(|&of| self.final_state(of)).collect();
        let one_is = |ends: fn(Option<FinalState>) -> bool| {
            final_states.iter().any(|&final_state| ends(final_state))
        };
        let settles = match return_when {
            ReturnWhen::FirstCompleted => one_is(|final_state| final_state.is_some()),
            ReturnWhen::FirstException => one_is(|final_state| {
                matches!(final_state, Some(FinalState::Raised | FinalState::Panicked))
            }),
            ReturnWhen::AllCompleted => false,
        };
        settles || final_states.iter().all(Option::is_some)
    }

    /// Returns true if a task has a reason to wait, when nothing can happen any
    /// more.
    fn is_wait_justified(&self, waits: &Waits) -> bool {
        match waits {
            Waits::NotForLong => false,
            Waits::For(of) => self.final_state(*of).is_none(),
            Waits::Gather(of) => {
                !self.is_settled(of, ReturnWhen::AllCompleted)
                    && !of.iter().any(|&of| self.has_failed(of))
            }
            Waits::All(of) => !self.is_settled(of, ReturnWhen::AllCompleted),
            Waits::Some(of, return_when) => !self.is_settled(of, *return_when),
            Waits::AnotherOf(of, received) => {
                let done = of.iter().filter(|&&of| self.final_state(of).is_some()).count();
                done == *received && done < of.len()
            }
            Waits::Item => self.items.borrow().is_empty(),
        }
    }

    fn check_all_waits(&self) {
        for task in FUTURES..FUTURES + self.spawned.get() {
            let (waits, is_dropped) =
                self.record(task, |record| (record.waits.clone(), record.is_dropped));
            let is_done = self.future(task).unwrap().done();
            if is_done {
                self.check(
                    self.final_state(task).is_some() && is_dropped,
                    "done, but not ended",
                    task,
                );
            } else {
                self.check(self.is_wait_justified(&waits), "waits in vain", (task, &waits));
                self.check(!self.is_in_circle(task), "waits in a circle", (task, waits));
            }
        }
        for callback in self.callbacks.borrow().iter() {
            let is_due = self.final_state(callback.of).is_some() && !callback.is_removed;
            self.check(callback.calls == u32::from(is_due), "not called once", callback);
        }
        let got = self.got.borrow();
        let items = self.items.borrow();
        self.check(got.iter().chain(items.iter()).copied().eq(0..self.put.get()), "items", &got);
    }

    fn spawn_next(self: &Rc<Self>) {
        let number = self.spawned.get();
        if number == self.programs.len() {
            return;
        }
        self.spawned.set(number + 1);
        let task = FUTURES + number;
        let mark = MarkDropped { model: Rc::clone(self), task };
        let coroutine = run_program(Rc::clone(self), task);
        let watched = Watched { coroutine: Box::pin(coroutine), has_returned: false, mark };
        let spawned = Task::spawn(&self.event_loop, watched);
        self.record(task, |record| record.future = Some(spawned.into()));
        self.watch_end(task);
    }

    fn put(&self) {
        let item = self.put.replace(self.put.get() + 1);
        self.items.borrow_mut().push_back(item);
        for getter in self.getters.take() {
            // Refused by a getter that has stopped waiting.
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
        let model = Rc::clone(self);
        let id = future.add_done_callback(move |_| {
            model.callbacks.borrow_mut()[number].calls += 1;
            model.set_result(then);
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
            self.record(of, |record| record.may_be_cancelled = true);
        }
        self.check(accepted || self.final_state(of).is_some(), "not cancelled", of);
        let is_dropped = of < FUTURES || self.record(of, |record| record.is_dropped);
        self.check(!accepted || of == me || is_dropped, "cancelled and kept", of);
    }
}

/// A drop guard that records in the model that a task's coroutine is dropped.
struct MarkDropped {
    model: Rc<Model>,
    task: usize,
}

impl Drop for MarkDropped {
    fn drop(&mut self) {
        self.model.record(self.task, |record| record.is_dropped = true);
    }
}

/// A wrapper that checks every step of a coroutine.
struct Watched<C> {
    coroutine: Pin<Box<C>>,
    has_returned: bool,
    mark: MarkDropped,
}

impl<C: Coroutine<Output = u32>> Coroutine for Watched<C> {
    type Output = u32;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u32> {
        let MarkDropped { model, task } = &self.mark;
        let (model, task) = (Rc::clone(model), *task);
        model.check(!self.has_returned, "stepped after it had returned", task);
        let is_done = model.future(task).unwrap().done();
        model.check(!is_done, "stepped after it was done", task);
        model.steps.set(model.steps.get() + 1);
        if model.steps.get() > MAX_STEPS {
            model.event_loop.stop();
        }
        let poll = self.coroutine.as_mut().poll(context);
        self.has_returned = poll.is_ready();
        poll
    }
}

async fn run_program(model: Rc<Model>, me: usize) -> u32 {
    for op in model.programs[me - FUTURES].clone() {
        run_op(&model, me, op).await;
        model.record(me, |record| record.waits = Waits::NotForLong);
    }
    end(&model, me, FinalState::Result(me as u32));
    me as u32
}

/// Records the end of a task, unless it was cancelled in this very step.
fn end(model: &Model, me: usize, final_state: FinalState) {
    if model.final_state(me).is_none() {
        model.record(me, |record| record.final_state = Some(final_state));
    }
}

async fn run_op(model: &Rc<Model>, me: usize, op: Op) {
    let event_loop = &model.event_loop;
    let waits = |waits| model.record(me, |record| record.waits = waits);
    let start = event_loop.now();
    let after = move |ms| start + Duration::from_millis(ms);
    match op {
        Op::Yield => yield_now(event_loop).await,
        Op::Sleep(ms) => {
            sleep(event_loop, Duration::from_millis(ms)).await;
            model.check(event_loop.now() == after(ms), "not on time", me);
        }
        Op::Await(of) => {
            let Some(future) = model.future(of) else { return };
            waits(Waits::For(of));
            match future.await {
                Err(Exception::InvalidState(InvalidState::AwaitsItself)) => {
                    model.check(of == me, "another one", of);
                }
                // Others may have been cancelled since it was found.
                Err(Exception::Circle(names)) => {
                    model.check(of != me && of >= FUTURES, "no circle", names);
                }
                outcome => model.check_moved(of, &outcome),
            }
        }
        Op::AwaitShielded(of) => {
            let Some(future) = model.future(of) else { return };
            waits(Waits::All(vec![of]));
            let outcome = shield(event_loop, future).await;
            model.check_outcome(of, &outcome);
        }
        Op::WaitFor(of, ms) => {
            let Some(future) = model.future(of) else { return };
            model.record(of, |record| record.may_be_cancelled = true);
            let outcome = wait_for(event_loop, future, Duration::from_millis(ms)).await;
            model.check(event_loop.now() <= after(ms), "waited too long", me);
            if let Err(Exception::TimedOut) = outcome {
                model.check(event_loop.now() == after(ms), "gave up early", me);
                model.check(
                    model.final_state(of) == Some(FinalState::Cancelled),
                    "and let it go on",
                    of,
                );
            } else {
                model.check_moved(of, &outcome);
            }
        }
        Op::Gather(of) => run_gather(model, me, &of).await,
        Op::GatherOutcomes(of) => {
            let (of, futures) = model.futures(&of);
            of.iter().for_each(|&of| model.record(of, |record| record.may_be_cancelled = true));
            waits(Waits::All(of.clone()));
            let outcomes = gather_outcomes(event_loop, futures).await.unwrap();
            model.check(outcomes.len() == of.len(), "how many", outcomes.len());
            of.iter().zip(&outcomes).for_each(|(&of, outcome)| model.check_outcome(of, outcome));
        }
        Op::Wait(of, return_when, ms) => {
            let deadline = ms.map(after);
            run_wait(model, me, &of, return_when, deadline).await;
        }
        Op::AsCompleted(of) => {
            let (of, futures) = model.futures(&of);
            let mut remaining = of.clone();
            let mut completed = as_completed(event_loop, futures, None);
            waits(Waits::AnotherOf(of.clone(), 0));
            while let Some(outcome) = completed.next().await {
                // The outcome does not tell its future.
                let is_it = |of: &usize| could_be(model, *of, &outcome);
                let index = remaining.iter().position(is_it);
                let about = (&remaining, &outcome);
                model.check(index.is_some(), "completed, but none of these", about);
                let Some(index) = index else { return };
                model.check_moved(remaining.remove(index), &outcome);
                waits(Waits::AnotherOf(of.clone(), of.len() - remaining.len()));
            }
            model.check(remaining.is_empty(), "left out", remaining);
        }
        Op::SetResult(of) => model.set_result(of),
        Op::SetException(of) => {
            let accepted = model.future(of).unwrap().set_exception("raised").is_ok();
            model.record_end(of, FinalState::Raised, accepted);
        }
        Op::Cancel(of) => model.cancel(me, of),
        Op::SetResultLater(of, ms) => {
            let later = Rc::clone(model);
            event_loop.call_later(Duration::from_millis(ms), move || {
                later.check(later.event_loop.now() == after(ms), "called on time", of);
                later.set_result(of);
            });
        }
        Op::AddCallback(of, then) => model.add_callback(of, then),
        Op::RemoveCallback => model.remove_callback(),
        Op::SpawnNext => model.spawn_next(),
        Op::Put => model.put(),
        Op::Get => {
            waits(Waits::Item);
            model.get().await;
        }
        Op::Panic => {
            end(model, me, FinalState::Panicked);
            std::panic::resume_unwind(Box::new("on purpose"));
        }
    }
}

fn could_be(model: &Model, of: usize, outcome: &Result<u32, Exception>) -> bool {
    let is_taken = model.record(of, |record| record.is_taken);
    match (model.final_state(of), outcome) {
        (Some(FinalState::Result(final_state)), Ok(result)) => final_state == *result,
        (Some(FinalState::Result(_)), Err(Exception::InvalidState(InvalidState::Taken))) => {
            is_taken
        }
        (Some(FinalState::Raised), Err(Exception::Raised(_)))
        | (Some(FinalState::Panicked), Err(Exception::Panicked(_)))
        | (Some(FinalState::Cancelled), Err(Exception::Cancelled)) => true,
        _ => false,
    }
}

async fn run_gather(model: &Rc<Model>, me: usize, of: &[usize]) {
    let (of, futures) = model.futures(of);
    of.iter().for_each(|&of| model.record(of, |record| record.may_be_cancelled = true));
    model.record(me, |record| record.waits = Waits::Gather(of.clone()));
    let is_done = |of: &usize| model.future(*of).unwrap().done();
    let (at_call, later): (Vec<usize>, Vec<usize>) = of.iter().copied().partition(is_done);
    match gather(&model.event_loop, futures).await {
        Ok(results) => {
            model.check(results.len() == of.len(), "how many", results.len());
            of.iter().zip(results).for_each(|(&of, result)| model.check_outcome(of, &Ok(result)));
        }
        Err(Exception::InvalidState(InvalidState::Taken)) => {
            let taken = of.iter().any(|&of| model.record(of, |record| record.is_taken));
            model.check(taken, "taken by nobody", of);
        }
        Err(exception) => {
            // Those that had ended before are looked at in the order of the arguments.
            let ended = model.ended.borrow();
            let later = ended.iter().copied().filter(|of| later.contains(of));
            let first = at_call.into_iter().chain(later).find(|&of| model.has_failed(of));
            model.check(first.is_some(), "nobody failed", &of);
            if let Some(first) = first {
                model.check_outcome(first, &Err(exception));
            }
        }
    }
}

async fn run_wait(
    model: &Rc<Model>,
    me: usize,
    of: &[usize],
    return_when: ReturnWhen,
    deadline: Option<Instant>,
) {
    let event_loop = &model.event_loop;
    let (of, futures) = model.futures(of);
    if deadline.is_none() {
        model.record(me, |record| record.waits = Waits::Some(of.clone(), return_when));
    }
    let timeout = deadline.map(|at| at - event_loop.now());
    let (done, pending) = wait(event_loop, futures, return_when, timeout).await;
    let is_timed_out = deadline.is_some_and(|at| event_loop.now() == at);
    model.check(is_timed_out || model.is_settled(&of, return_when), "returned early", &of);
    model.check(done.iter().all(FutureExt::done), "called done", &of);
    model.check(!pending.iter().any(FutureExt::done), "called pending", &of);
    model.check(done.len() + pending.len() == of.len(), "all of them", &of);
}

fn run_model(programs: Vec<Vec<Op>>, at_first: usize) -> Result<(), TestCaseError> {
    let runtime = runtime_on(VirtualClock::new(), Arc::new(system_lookup));
    let event_loop = runtime.event_loop().clone();
    let model = Model::new(&event_loop, programs);
    (0..at_first).for_each(|_| model.spawn_next());
    let run_until_nothing_happens = || {
        let ended = runtime.run_forever().map_err(|error| error.kind());
        prop_assert_eq!(ended, Err(ErrorKind::Deadlock), "too many steps");
        model.check_all_waits();
        prop_assert_eq!(event_loop.pending_timers(), 0);
        let faults = model.faults.take();
        prop_assert!(faults.is_empty(), "{faults:#?}");
        Ok(())
    };
    run_until_nothing_happens()?;
    // Resolves all futures that are still pending, and feeds all getters.
    (0..FUTURES).for_each(|of| model.set_result(of));
    (0..model.programs.len() * 9).for_each(|_| model.put());
    run_until_nothing_happens()?;

    drop(runtime);
    prop_assert_eq!((event_loop.pending_tasks(), event_loop.pending_timers()), (0, 0));
    let spawned = FUTURES + model.spawned.get();
    for task in FUTURES..spawned {
        prop_assert!(model.record(task, |record| record.is_dropped), "task {task} is left");
    }
    model.records.borrow_mut().iter_mut().for_each(|record| record.future = None);
    prop_assert_eq!(Rc::strong_count(&model), 1, "somebody still holds the book");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_waiting_task_has_a_reason_and_every_outcome_is_true(
        programs in prop::collection::vec(prop::collection::vec(op(), 0..9), 1..=FUTURES),
        at_first in 1..=FUTURES,
    ) {
        run_model(programs, at_first)?;
    }
}
