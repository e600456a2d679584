//! The trace of a run: its events, kept as they happen.
//!
//! The rules of this crate:
//!
//! 1. **Switched off, a hook is one branch.** [`emit`] takes a function that makes
//!    the event, and calls it only if this thread has a [`Tracer`].
//! 2. **A tracer belongs to the threads that have entered it.** Two loops on two
//!    threads have two traces, or none.
//! 3. **A trace is bounded.** Events after the limit are counted and dropped, and tasks
//!    and fetches that begin after it have no lane.
//! 4. **Time is that of the run.** A backend with a clock of its own sets the time
//!    with [`set_time`]. So the trace of a simulated run is
//!    the same every time.
//!
//! Events are on lanes: the operating system, the selector, the run queue, and one
//! for each task. The spans of a lane are nested: a fetch contains the steps of its
//! task, although it begins and ends in the middle of one.

mod event;
#[cfg(feature = "json")]
pub mod json;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use crate::event::{At, Event, outcome};

/// The lane of the operating system: waits, reads and writes.
pub const OS: u32 = 1;
/// The lane of the selector: ticks, events and timers.
pub const SELECTOR: u32 = 2;
/// The lane of callbacks, and of what no task does.
pub const RUN_QUEUE: u32 = 3;

/// One event with its time and its lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The time since the beginning of the trace.
    pub time: Duration,
    /// The lane, from 1.
    pub lane: u32,
    /// The lane of the task that was running.
    pub task: u32,
    /// The event.
    pub event: Event,
}

/// The lane of a task, a thread, or a fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskLane {
    /// The name that it was given, or that of its first fetch.
    pub name: Option<String>,
    /// The line that spawned the task.
    pub spawned: Option<At>,
}

/// A trace that is complete.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The beginning, by the clock of the run.
    pub started: Instant,
    /// The events in their order.
    pub records: Vec<Record>,
    /// The lanes of tasks. The first one is lane 4.
    pub tasks: Vec<TaskLane>,
    /// The number of events after the limit, which are not there.
    pub dropped: u64,
}

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// The tracer that a thread has entered, and what it is doing.
struct Current {
    tracer: Tracer,
    /// The lane of the task that is running.
    lane: u32,
    /// The cause of wake-ups at this moment.
    cause: &'static str,
    /// The index of the record with which the present step or callback began.
    span: Option<usize>,
    /// Begins and ends of fetches that are written when the step has ended.
    deferred: Vec<(u32, Event)>,
    has_panicked: bool,
}

/// A handle to a trace that is being made. Clones stand for the same trace.
#[derive(Clone, Debug)]
pub struct Tracer(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    trace: Trace,
    limit: usize,
    /// The time of a clock that is not the operating system's.
    now: Option<Instant>,
    /// The lanes by the ids of tasks, and by the URLs that are being fetched.
    lanes: HashMap<u64, u32>,
    fetches: HashMap<Box<str>, u32>,
}

/// A guard: until it is dropped, or another one of its thread is, the thread has a tracer.
#[derive(Debug)]
pub struct EnterGuard(());

impl Drop for EnterGuard {
    fn drop(&mut self) {
        IS_ON.set(false);
        CURRENT.take();
    }
}

impl Tracer {
    /// The most events of a trace, unless another number is given.
    pub const LIMIT: usize = 1_000_000;

    /// Begins a trace of at most `limit` events.
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            trace: Trace {
                started: Instant::now(),
                records: Vec::new(),
                tasks: Vec::new(),
                dropped: 0,
            },
            limit,
            now: None,
            lanes: HashMap::new(),
            fetches: HashMap::new(),
        })))
    }

    /// Has this thread write to the trace, until the guard is dropped. It leaves the
    /// tracer that it has entered before.
    #[must_use]
    pub fn enter(&self) -> EnterGuard {
        let tracer = self.clone();
        let (lane, cause, span) = (RUN_QUEUE, "thread", None);
        let deferred = Vec::new();
        CURRENT.set(Some(Current { tracer, lane, cause, span, deferred, has_panicked: false }));
        IS_ON.set(true);
        EnterGuard(())
    }

    /// Has this thread write to the trace until it ends, on a lane with this name. A
    /// thread that has entered a tracer already keeps it, and one that has a lane keeps
    /// the lane.
    pub fn enter_thread(&self, name: &str) {
        if !is_on() {
            std::mem::forget(self.enter());
        }
        when_on(|current| {
            if current.lane == RUN_QUEUE {
                current.lane = current.tracer.state().new_named_lane(0, Some(name));
            }
        });
    }

    /// Takes the trace, which ends here.
    pub fn take(&self) -> Trace {
        let trace = &mut self.state().trace;
        let records = std::mem::take(&mut trace.records);
        let tasks = std::mem::take(&mut trace.tasks);
        Trace { started: trace.started, records, tasks, dropped: trace.dropped }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn push(&mut self, lane: u32, task: u32, mut event: Event) {
        if let Event::TimerSet { timer, at } = event
            && let Some(last) = self.trace.records.last_mut()
            && let Event::TimerCancelled { timer: from } = last.event
        {
            event = Event::TimerMoved { timer, from, at };
            self.trace.records.pop();
        }
        if self.trace.records.len() == self.limit {
            self.trace.dropped += 1;
            return;
        }
        let now = self.now.unwrap_or_else(Instant::now);
        let time = now.saturating_duration_since(self.trace.started);
        self.trace.records.push(Record { time, lane, task, event });
    }

    fn new_lane(&mut self, id: u64) -> u32 {
        if self.trace.records.len() >= self.limit {
            return RUN_QUEUE;
        }
        self.trace.tasks.push(TaskLane::default());
        let lane = RUN_QUEUE + self.trace.tasks.len() as u32;
        self.lanes.insert(id, lane);
        lane
    }

    fn new_named_lane(&mut self, id: u64, name: Option<&str>) -> u32 {
        let lane = self.new_lane(id);
        if let Some(task) = self.task(lane) {
            task.name = name.map(str::to_owned);
        }
        lane
    }

    fn lane(&mut self, id: u64) -> u32 {
        self.lanes.get(&id).copied().unwrap_or_else(|| self.new_lane(id))
    }

    fn task(&mut self, lane: u32) -> Option<&mut TaskLane> {
        self.trace.tasks.get_mut(lane.checked_sub(RUN_QUEUE + 1)? as usize)
    }
}

impl Current {
    /// Begins a step or a callback on a lane.
    fn begin(&mut self, lane: u32, cause: &'static str, event: Event) {
        self.end_callback();
        let mut state = self.tracer.state();
        (self.lane, self.cause) = (lane, cause);
        self.span = Some(state.trace.records.len());
        state.push(lane, lane, event);
    }

    /// Ends the callback that is running, if there is one. A callback lasts until the
    /// next one begins, a timer fires, or the loop waits.
    fn end_callback(&mut self) {
        if self.span.is_some() && self.cause == "callback" {
            self.end(Event::CallbackEnd);
        }
    }

    /// Ends the step or callback, and writes what was deferred.
    fn end(&mut self, event: Event) {
        let mut state = self.tracer.state();
        state.push(self.lane, self.lane, event);
        for (lane, event) in self.deferred.drain(..) {
            state.push(lane, lane, event);
        }
        (self.lane, self.cause, self.span) = (RUN_QUEUE, "thread", None);
    }
}

/// Calls `f` if this thread has a tracer. The call is out of line, so that a hook
/// that is switched off takes little room.
#[inline(always)]
fn when_on(f: impl FnOnce(&mut Current)) {
    if is_on() {
        with_current(f);
    }
}

#[cold]
#[inline(never)]
fn with_current(f: impl FnOnce(&mut Current)) {
    CURRENT.with_borrow_mut(|current| current.as_mut().map(f));
}

/// Returns true if this thread has a tracer.
#[inline(always)]
pub fn is_on() -> bool {
    !cfg!(feature = "none") && IS_ON.get()
}

/// Returns the tracer that this thread has entered, for a thread that it starts.
pub fn current() -> Option<Tracer> {
    CURRENT.with_borrow(|current| current.as_ref().map(|current| current.tracer.clone()))
}

/// Writes the event that `make` returns.
#[inline(always)]
pub fn emit(make: impl FnOnce() -> Event) {
    when_on(move |current| {
        let event = make();
        if matches!(event, Event::TickEnd | Event::TimerFired { .. }) {
            current.end_callback();
        }
        current.cause = match event {
            Event::SelectEnd { .. } => "event",
            Event::TimerFired { .. } => "timer",
            Event::TickEnd => "thread",
            _ => current.cause,
        };
        let lane = event.lane().unwrap_or(current.lane);
        current.tracer.state().push(lane, current.lane, event);
    });
}

/// Writes that a timer is set, or moved: cancelled and set again at once.
#[inline(always)]
pub fn timer_set(timer: u64, at: Instant) {
    emit(move || Event::TimerSet { timer, at });
}

/// Writes that a timer is cancelled, if it is pending.
#[inline(always)]
pub fn timer_cancelled(timer: u64, is_pending: impl FnOnce() -> bool) {
    if is_on() && is_pending() {
        emit(|| Event::TimerCancelled { timer });
    }
}

/// Writes that a timer fires.
#[inline(always)]
pub fn timer_fired(timer: u64) {
    emit(move || Event::TimerFired { timer });
}

/// Sets the time of a clock that is not the operating system's. The first time is
/// the beginning of the trace.
#[inline(always)]
pub fn set_time(now: Instant) {
    when_on(move |current| {
        let mut state = current.tracer.state();
        if state.now.is_none() {
            state.trace.started = now;
        }
        state.now = Some(now);
    });
}

/// Returns the id of a value that stays at its address.
pub fn id<T>(value: &T) -> u64 {
    std::ptr::from_ref(value).addr() as u64
}

/// Begins a step of the task with this id. The first step of a task gives its lane a
/// name: what `name` returns, and the line that spawned it.
#[inline(always)]
pub fn step_begin(id: u64, name: impl FnOnce() -> (Option<String>, Option<At>)) {
    when_on(move |current| {
        let lane = current.tracer.state().lane(id);
        current.begin(lane, "task", Event::StepBegin);
        if let Some(task) = current.tracer.state().task(lane)
            && task.spawned.is_none()
        {
            let (name, spawned) = name();
            (task.name, task.spawned) = (name.or(task.name.take()), spawned);
        }
    });
}

/// Ends the step, or callback, that is running. A step in which [`panicked`] was called
/// has panicked.
#[inline(always)]
pub fn step_end(at: Option<At>, result: &'static str) {
    when_on(move |current| {
        let result = if std::mem::take(&mut current.has_panicked) { "panicked" } else { result };
        let is_callback = current.cause == "callback";
        current.end(if is_callback { Event::CallbackEnd } else { Event::StepEnd { at, result } });
    });
}

/// Notes that the present step, or callback, panics. Without one it notes nothing: the
/// destructor of a task that has ended has panicked.
pub fn panicked() {
    when_on(move |current| current.has_panicked = current.span.is_some());
}

/// Ends the task with this id, which takes no step: another one has cancelled it.
#[inline(always)]
pub fn cancelled(id: u64) {
    when_on(move |current| {
        let mut state = current.tracer.state();
        // What has taken no step has no lane.
        if let Some(&lane) = state.lanes.get(&id) {
            state.push(lane, lane, Event::StepBegin);
            state.push(lane, lane, Event::StepEnd { at: None, result: "cancelled" });
        }
    });
}

/// Notes that other threads are the cause of the wake-ups that follow.
#[inline(always)]
pub fn by_threads() {
    when_on(|current| current.cause = "thread");
}

/// Begins a callback on the lane of its state, if that is a fetch, by the name of its
/// function and the key of its socket. It ends when the next one begins, or the loop
/// waits.
#[inline(always)]
pub fn callback<T>(state: &T, name: &'static str, key: Option<u64>) {
    when_on(move |current| {
        let lane = current.tracer.state().lanes.get(&id(state)).copied();
        let event = Event::CallbackBegin { name, key };
        current.begin(lane.unwrap_or(RUN_QUEUE), "callback", event);
    });
}

/// Begins the callback of a closure, which is returned.
#[inline(always)]
pub fn closure<F>(call: F) -> F {
    when_on(move |current| {
        let event = Event::CallbackBegin { name: "closure", key: None };
        current.begin(RUN_QUEUE, "callback", event);
    });
    call
}

/// Writes that a callback with this state waits for its socket.
#[inline(always)]
pub fn callback_stored<T>(this: &T, is_read: bool, key: impl FnOnce() -> u64) {
    when_on(move |current| {
        let mut state = current.tracer.state();
        let lane = state.lanes.get(&id(this)).copied().unwrap_or(RUN_QUEUE);
        let operation = if is_read { "read" } else { "write" };
        let event = Event::WakerStored { operation, at: None, key: Some(key()) };
        state.push(lane, current.lane, event);
    });
}

/// Writes that the task with this id is woken by what is happening. What has taken no
/// step is a callback, whose lane is the run queue.
#[inline(always)]
pub fn wake(id: u64) {
    when_on(move |current| {
        let mut state = current.tracer.state();
        let lane = state.lanes.get(&id).copied().unwrap_or(RUN_QUEUE);
        let from = (current.cause == "task").then_some(current.lane);
        state.push(lane, current.lane, Event::Wake { by: current.cause, from });
    });
}

/// Begins a fetch on the lane of the current task, whose span contains the present
/// step of the task.
#[inline(always)]
pub fn fetch_begin(url: impl fmt::Display) {
    when_on(move |current| {
        let url = url.to_string().into_boxed_str();
        let mut state = current.tracer.state();
        let lane = current.lane;
        state.fetches.insert(url.clone(), lane);
        if let Some(task) = state.task(lane) {
            task.name.get_or_insert_with(|| format!("fetch {url}"));
        }
        let event = Event::FetchBegin { url };
        let length = state.trace.records.len();
        match current.span {
            // After the end of another fetch in the same step.
            Some(_) if !current.deferred.is_empty() => current.deferred.push((lane, event)),
            Some(index) if index < length && length < state.limit => {
                let time = state.trace.records[index].time;
                state.trace.records.insert(index, Record { time, lane, task: lane, event });
                current.span = Some(index + 1);
            }
            _ => state.push(lane, lane, event),
        }
    });
}

/// Ends the fetch of this URL, after the present step. Its outcome is what `outcome`
/// returns.
#[inline(always)]
pub fn fetch_end(url: &str, status: Option<u16>, outcome: impl FnOnce() -> &'static str) {
    when_on(move |current| {
        let mut state = current.tracer.state();
        let Some(lane) = state.fetches.remove(url) else { return };
        let event = Event::FetchEnd { url: url.into(), status, outcome: outcome() };
        if current.span.is_some() && lane == current.lane {
            current.deferred.push((lane, event));
        } else {
            state.push(lane, current.lane, event);
        }
    });
}

/// Begins a fetch on a new lane, which is that of its callbacks.
#[must_use]
pub fn enter_fetch<T>(fetcher: &T, url: impl fmt::Display) -> LaneGuard {
    let lane = enter_lane(id(fetcher), None);
    fetch_begin(url);
    lane
}

/// Writes an operation of a queue, with the number of items that are not done then.
#[inline(always)]
pub fn queue<T>(queue: &T, operation: &'static str, unfinished: usize) {
    emit(move || Event::Queue { queue: id(queue), operation, unfinished });
}

/// A guard: until it is dropped, a lane of its own is the current one.
#[derive(Debug)]
pub struct LaneGuard(Option<(u32, Option<usize>)>);

/// Makes a new lane for a fetch or a thread with this id, and enters it. Without a
/// name, it gets that of its first fetch.
#[must_use]
pub fn enter_lane(id: u64, name: Option<&str>) -> LaneGuard {
    let mut outer = None;
    when_on(|current| {
        let lane = current.tracer.state().new_named_lane(id, name);
        outer = Some((current.lane, current.span.take()));
        current.lane = lane;
    });
    LaneGuard(outer)
}

impl Drop for LaneGuard {
    fn drop(&mut self) {
        if let Some(outer) = self.0.take() {
            when_on(move |current| (current.lane, current.span) = outer);
        }
    }
}
