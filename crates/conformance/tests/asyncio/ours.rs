//! The interpreter of the programs on the runtime of stage 2.

use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use crate::program::{By, End, FUTURES, Job, Kind, Many, One, Op, Program, Step, When};
#[allow(clippy::wildcard_imports, reason = "old.rs has other traits")]
use crate::runtime::*;

struct Run {
    event_loop: EventLoop,
    start: Instant,
    program: Program,
    queue: JoinableQueue<u64>,
    futures: RefCell<Vec<Option<AnyFuture<u64>>>>,
    keys: RefCell<Vec<Option<Key>>>,
    /// The number of steps that each script has begun: those of the tasks, and then those
    /// of the main coroutines.
    begun: Vec<Cell<usize>>,
    at_drop: RefCell<Vec<(usize, Op)>>,
    callbacks: RefCell<Vec<(usize, CallbackId)>>,
    handles: RefCell<Vec<CallbackHandle>>,
    forgotten: RefCell<Vec<Forgotten>>,
    hanging: RefCell<Vec<Waker>>,
    log: RefCell<Vec<String>>,
    complaints: Rc<RefCell<Vec<String>>>,
    spawned: Cell<usize>,
    values: Cell<u64>,
    items: Cell<u64>,
    /// The number of getters that wait.
    getting: Cell<usize>,
    /// The operations that were carried out, each with the state that it met.
    reach: RefCell<Vec<(String, &'static str)>>,
    is_main_running: Cell<bool>,
    mains_over: Cell<usize>,
    is_over: Cell<bool>,
}

/// A gather that is not awaited.
enum Forgotten {
    Flat(Gather<u64>),
    Nested(Gather<Vec<u64>>),
}

/// The exception that a program raises.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Raised(u64);

/// A time after all others, for the states in which the futures are left.
const END: u64 = 1 << 63;
/// The pause of the last task, which goes on with what is pending.
const LAST: u64 = 1 << 44;
/// More rounds of the last task, and more runs, than a program can need.
const ROUNDS: usize = 1000;
const RUNS: usize = 100;

/// Runs a program until nothing can happen any more, and returns its log: one line
/// for each event, with its time in nanoseconds and its actor.
pub(crate) fn run(program: &Program) -> Vec<String> {
    run_for_reach(program).0
}

/// Runs a program, and returns its log and the operations, each with the state that it met.
pub(crate) fn run_for_reach(program: &Program) -> (Vec<String>, Vec<(String, &'static str)>) {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let (tasks, mains) = (program.tasks.len(), program.mains.len());
    let future = || AnyFuture::from(Future::new(&event_loop)).shared();
    let futures = (0..FUTURES).map(|_| Some(future()));
    let run = Rc::new(Run {
        start: event_loop.now(),
        program: program.clone(),
        queue: JoinableQueue::new(&event_loop),
        futures: RefCell::new(futures.chain((0..tasks).map(|_| None)).collect()),
        keys: RefCell::new(vec![None; FUTURES + tasks]),
        begun: vec![Cell::new(0); tasks + mains],
        at_drop: RefCell::default(),
        callbacks: RefCell::default(),
        handles: RefCell::default(),
        forgotten: RefCell::default(),
        hanging: RefCell::default(),
        log: RefCell::default(),
        complaints: Rc::default(),
        spawned: Cell::new(0),
        values: Cell::new(0),
        items: Cell::new(0),
        getting: Cell::new(0),
        reach: RefCell::default(),
        is_main_running: Cell::new(false),
        mains_over: Cell::new(0),
        is_over: Cell::new(false),
        event_loop,
    });
    run.listen();
    (0..program.at_first).for_each(|_| run.spawn_next());
    if program.kind != Kind::Alone {
        run.event_loop.spawn_detached(Rc::clone(&run).last_task());
    }
    for number in 0..mains {
        let has_returned = run.main(&runtime, number);
        // One that was dropped has left wakers, and these would wake the next one.
        if !has_returned && program.kind == Kind::Alone {
            break;
        }
    }
    for _ in 0..RUNS {
        let ended = catch_unwind(AssertUnwindSafe(|| runtime.run_forever()));
        if matches!(&ended, Ok(Err(_))) {
            break;
        }
        run.say("loop", how_ended(&ended));
    }
    let reach = run.reach.take();
    (run.end(runtime), reach)
}

fn how_ended<T>(ended: &std::thread::Result<io::Result<T>>) -> String {
    match ended {
        Ok(Ok(_)) => "stopped".into(),
        Ok(Err(error)) => error.kind().to_string(),
        Err(panic) => Exception::panicked(&**panic).to_string(),
    }
}

fn told(outcome: &Result<impl Display, Exception>) -> String {
    match outcome {
        Ok(value) => value.to_string(),
        Err(exception) => told_exception(exception),
    }
}

fn told_exception(exception: &Exception) -> String {
    match exception {
        Exception::Raised(error) => format!("raised {error}"),
        Exception::Panicked(text) => format!("panicked {text}"),
        Exception::TimedOut => "timed out".into(),
        Exception::Cancelled => "cancelled".into(),
        Exception::Circle(_) => "circle".into(),
        _ => "invalid".into(),
    }
}

/// Panics, and leaves stderr alone.
fn panic_with(value: u64) -> ! {
    resume_unwind(Box::new(value.to_string()))
}

/// Says that a task is cancelled when its coroutine is dropped, and does what the program
/// wants to be done then.
struct Guard {
    run: Rc<Run>,
    me: usize,
    has_ended: bool,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let (run, me) = (&self.run, self.me);
        if run.is_over.get() {
            return;
        }
        if !self.has_ended && me < FUTURES + run.program.tasks.len() && !std::thread::panicking() {
            run.say(run.name(me), "cancelled");
        }
        let mine: Vec<_> = run.at_drop.borrow_mut().extract_if(.., |(of, _)| *of == me).collect();
        for (_, op) in mine {
            // A second panic would end the process.
            if !(matches!(op, Op::Panic) && std::thread::panicking()) {
                run.at_once(me, &op);
            }
        }
    }
}

impl Run {
    fn name(&self, number: usize) -> String {
        let first_main = FUTURES + self.program.tasks.len();
        match number {
            0..FUTURES => format!("f{number}"),
            task if task < first_main => format!("t{task}"),
            main => format!("m{}", main - first_main),
        }
    }

    fn say(&self, actor: impl Display, text: impl Display) {
        let time = self.event_loop.now() - self.start;
        self.log.borrow_mut().push(format!("{} {actor} {text}", time.as_nanos()));
    }

    fn is_paced(&self) -> bool {
        self.program.kind == Kind::Paced
    }

    /// Keeps what the exception handler hears. A callback's complaint comes at its time,
    /// and the others when the last handle goes, which Python has its own time for.
    fn listen(self: &Rc<Self>) {
        let (run, complaints) = (Rc::downgrade(self), Rc::clone(&self.complaints));
        self.event_loop.set_exception_handler(move |error| match error {
            LoopError::Panicked(exception) => {
                if let Some(run) = run.upgrade() {
                    run.say("loop", format!("complains: {}", told_exception(exception)));
                }
            }
            LoopError::ExceptionNeverRetrieved(exception) => {
                let complaint = format!("never retrieved: {}", told_exception(exception));
                complaints.borrow_mut().push(complaint);
            }
            LoopError::TaskDestroyed(_) => complaints.borrow_mut().push("destroyed".into()),
        });
    }

    /// Closes the loop, and returns the log with the states in which the futures are left,
    /// and with the complaints.
    fn end(self: Rc<Self>, runtime: Runtime) -> Vec<String> {
        let mut runtime = Some(runtime);
        if self.program.kind == Kind::Alone {
            self.close(runtime.take());
        }
        let mut last: Vec<String> = (0..self.futures.borrow().len())
            .map(|number| format!("{} {}", self.name(number), self.state(number)))
            .collect();
        let steps = |steps: &Vec<Step>| steps.len();
        let all: usize = self.program.tasks.iter().map(|task| steps(&task.steps)).sum();
        let mains: usize = self.program.mains.iter().map(|main| steps(&main.steps)).sum();
        let begun: usize = self.begun.iter().map(Cell::get).sum();
        last.push(format!("carried out: {begun} of {}", all + mains));
        self.is_over.set(true);
        if let Some(runtime) = runtime {
            close(runtime);
        }
        // They hold the run, through the callbacks of their futures.
        drop(self.forgotten.take());
        drop(self.handles.take());
        drop(self.hanging.take());
        drop(self.futures.take());
        let mut complaints = self.complaints.take();
        complaints.sort();
        last.extend(complaints);
        let mut log = self.log.take();
        log.extend(last.into_iter().map(|line| format!("{END} end {line}")));
        log
    }

    /// Closes the loop. In which order it drops its tasks says nothing.
    fn close(&self, runtime: Option<Runtime>) {
        let from = self.log.borrow().len();
        if catch_unwind(AssertUnwindSafe(|| runtime.map(close))).is_err() {
            self.say("loop", "panicked in close");
        }
        self.log.borrow_mut()[from..].sort();
    }

    fn future(&self, of: usize) -> Option<AnyFuture<u64>> {
        self.futures.borrow().get(of).cloned().flatten()
    }

    fn several(&self, of: &[usize]) -> Vec<AnyFuture<u64>> {
        of.iter().filter_map(|&of| self.future(of)).collect()
    }

    fn state(&self, of: usize) -> String {
        match self.future(of) {
            None => "not spawned".into(),
            Some(future) if !future.done() => "pending".into(),
            Some(future) if self.program.looks => told(&future.result()),
            Some(future) if future.cancelled() => "cancelled".into(),
            Some(_) => "done".into(),
        }
    }

    fn value(&self) -> u64 {
        self.values.update(|values| values + 1);
        self.values.get()
    }

    fn resolve(&self, of: usize, actor: impl Display) {
        let Some(future) = self.future(of) else { return };
        let value = self.value();
        // The result of a task is what its coroutine returns.
        let is_set = of < FUTURES && future.as_future().set_result(value).is_ok();
        self.say(actor, if is_set { "set" } else { "refused" });
    }

    fn spawn_next(self: &Rc<Self>) {
        let number = self.spawned.get();
        if let Some(script) = self.program.tasks.get(number) {
            self.spawned.set(number + 1);
            let me = FUTURES + number;
            let coroutine = Rc::clone(self).script(me);
            let task = if script.is_plain {
                let plain = async { coroutine.await.expect("a plain script does not raise") };
                Task::spawn(&self.event_loop, plain)
            } else {
                Task::try_spawn(&self.event_loop, coroutine)
            };
            self.keys.borrow_mut()[me] = Some(task.key());
            self.futures.borrow_mut()[me] = Some(AnyFuture::from(task).shared());
        }
    }

    fn steps(&self, me: usize) -> &[Step] {
        let tasks = self.program.tasks.len();
        match me - FUTURES {
            task if task < tasks => &self.program.tasks[task].steps,
            main => &self.program.mains[main - tasks].steps,
        }
    }

    async fn script(self: Rc<Self>, me: usize) -> Result<u64, Raised> {
        let mut guard = Guard { run: Rc::clone(&self), me, has_ended: false };
        while let Some(step) = self.next_step(me).await {
            match step.op {
                Op::Raise => {
                    guard.has_ended = true;
                    return Err(Raised(self.value()));
                }
                Op::Panic => panic_with(self.value()),
                _ => self.op(me, &step.op).await,
            }
        }
        guard.has_ended = true;
        Ok(me as u64)
    }

    async fn next_step(&self, me: usize) -> Option<&Step> {
        let begun = &self.begun[me - FUTURES];
        let step = self.steps(me).get(begun.get())?;
        if self.is_paced() {
            sleep(&self.event_loop, Duration::from_nanos(step.pause)).await;
        }
        begun.set(begun.get() + 1);
        self.note(me, &step.op);
        Some(step)
    }

    /// Keeps the name of an operation and the state that it meets.
    fn note(&self, me: usize, op: &Op) {
        let name = format!("{op:?}");
        let name = name.split([' ', '{', '(']).next().unwrap_or_default().to_owned();
        self.reach.borrow_mut().push((name, self.met(me, op)));
    }

    fn met(&self, me: usize, op: &Op) -> &'static str {
        match op {
            Op::Await { of }
            | Op::Shield { of: One::Future(of) }
            | Op::TimeoutShield { of, .. }
            | Op::WaitFor { of: One::Future(of), .. }
            | Op::SetResult { of }
            | Op::SetException { of }
            | Op::Cancel { of }
            | Op::PutAndCancel { of }
            | Op::CancelShield { of }
            | Op::AddCallback { of, .. }
            | Op::Probe { of } => {
                if *of == me {
                    return "itself";
                }
                match self.future(*of) {
                    None => "not spawned",
                    Some(future) if !future.done() => "pending",
                    Some(future) if future.cancelled() => "cancelled",
                    Some(future) if has_exception(&future) => "with an exception",
                    Some(_) => "with a result",
                }
            }
            Op::Gather { of: Many::Futures(of) }
            | Op::GatherOutcomes { of: Many::Futures(of) }
            | Op::ForgetGather { of: Many::Futures(of) }
            | Op::Wait { of: Many::Futures(of), .. }
            | Op::AsCompleted { of: Many::Futures(of), .. }
            | Op::ForgetNested { of }
            | Op::OverGather { of, .. } => {
                let futures = self.several(of);
                let num_done = futures.iter().filter(|future| future.done()).count();
                match num_done {
                    _ if futures.is_empty() => "nothing",
                    0 => "all pending",
                    num_done if num_done == futures.len() => "all done",
                    _ => "some pending",
                }
            }
            Op::Shield { .. }
            | Op::WaitFor { .. }
            | Op::Gather { .. }
            | Op::GatherOutcomes { .. }
            | Op::ForgetGather { .. }
            | Op::Wait { .. }
            | Op::AsCompleted { .. } => "coroutines",
            Op::Put if self.getting.get() > 0 => "a getter waits",
            Op::Put => "nobody waits",
            Op::Get { .. } | Op::GetTimeout { .. } if self.queue.is_empty() => "empty",
            Op::Get { .. } | Op::GetTimeout { .. } => "with items",
            Op::Join if self.queue.unfinished() > 0 => "unfinished",
            Op::Join => "all done",
            Op::CancelHandle if self.handles.borrow().is_empty() => "nothing",
            Op::CancelGather if self.forgotten.borrow().is_empty() => "nothing",
            Op::RemoveCallback if self.callbacks.borrow().is_empty() => "nothing",
            Op::Spawn if self.spawned.get() == self.program.tasks.len() => "nothing",
            Op::Stop if self.is_main_running.get() => "a main coroutine runs",
            _ => "any",
        }
    }

    /// Does what a cancelled task, or a main coroutine without time, has left.
    async fn heir(self: Rc<Self>, me: usize) {
        while let Some(step) = self.next_step(me).await {
            if !matches!(step.op, Op::Raise | Op::Panic) {
                self.op(me, &step.op).await;
            }
        }
    }

    /// Goes on, one thing at a time, with what is pending when nothing else happens: so
    /// everything that a program has is carried out.
    async fn last_task(self: Rc<Self>) {
        let (tasks, all) = (FUTURES + self.program.tasks.len(), FUTURES + self.begun.len());
        let mut inherited = vec![false; all];
        let is_pending = |of: &usize| self.future(*of).is_some_and(|future| !future.done());
        let has_more = |me: usize| self.begun[me - FUTURES].get() < self.steps(me).len();
        for _ in 0..ROUNDS {
            sleep(&self.event_loop, Duration::from_nanos(LAST)).await;
            let is_left = |me: &usize| {
                let is_gone = if *me < tasks { !is_pending(me) } else { self.is_main_over(*me) };
                is_gone && !inherited[*me] && has_more(*me)
            };
            if let Some(of) = (0..FUTURES).find(is_pending) {
                self.resolve(of, "last");
            } else if self.spawned.get() < self.program.tasks.len() {
                self.spawn_next();
            } else if let Some(me) = (FUTURES..all).find(is_left) {
                inherited[me] = true;
                self.event_loop.spawn_detached(Rc::clone(&self).heir(me));
            } else if !self.queue.is_empty() {
                let item = *self.queue.get().await;
                self.say("last", format!("got {item}"));
            } else if self.getting.get() > 0 {
                self.put();
            } else if !(FUTURES..tasks).any(|of| is_pending(&of)) && !(FUTURES..all).any(has_more) {
                return;
            }
        }
    }

    fn is_main_over(&self, me: usize) -> bool {
        me - FUTURES - self.program.tasks.len() < self.mains_over.get()
    }

    /// Runs a main coroutine, and returns true if it has returned.
    fn main(self: &Rc<Self>, runtime: &Runtime, number: usize) -> bool {
        let me = FUTURES + self.program.tasks.len() + number;
        let main = &self.program.mains[number];
        for op in &main.before {
            if catch_unwind(AssertUnwindSafe(|| self.at_once(me, op))).is_err() {
                self.say(self.name(me), "panicked");
            }
        }
        let script = Rc::clone(self).script(me);
        self.is_main_running.set(true);
        let ended = catch_unwind(AssertUnwindSafe(|| match main.timeout {
            None => runtime.run_until_complete(script),
            Some(ns) => runtime.run_sync(script, Duration::from_nanos(ns)),
        }));
        self.is_main_running.set(false);
        self.mains_over.set(number + 1);
        self.say("loop", how_ended(&ended));
        matches!(ended, Ok(Ok(_)))
    }

    /// Carries out an operation that may wait.
    async fn op(self: &Rc<Self>, me: usize, op: &Op) {
        let event_loop = &self.event_loop;
        let say = |text: String| self.say(self.name(me), text);
        match op {
            Op::Sleep { ns } => {
                sleep(event_loop, Duration::from_nanos(*ns)).await;
                say("slept".into());
            }
            Op::Await { of } => {
                if let Some(future) = self.future(*of) {
                    let outcome = match future.clone().await {
                        // The exception of a future is copied also for those who do not share it.
                        Err(_) if future.done() => future.as_future().clone().await,
                        outcome => outcome,
                    };
                    say(format!("await {}", told(&outcome)));
                }
            }
            Op::Shield { of } => {
                let shielded = match of {
                    One::Future(of) => self.future(*of).map(|it| shield(event_loop, it)),
                    One::Job(job) => Some(shield(event_loop, Rc::clone(self).job(*job))),
                };
                if let Some(shielded) = shielded {
                    say(format!("shield {}", told(&shielded.await)));
                }
            }
            Op::TimeoutShield { of, ns } => {
                if let Some(future) = self.future(*of) {
                    let shielded = shield(event_loop, future);
                    let outcome = timeout_at(event_loop, self.deadline(*ns), shielded).await;
                    let outcome = outcome.unwrap_or(Err(Exception::TimedOut));
                    say(format!("timeout_shield {}", told(&outcome)));
                }
            }
            Op::WaitFor { of, ns } => {
                let timeout = Duration::from_nanos(*ns);
                let outcome = match of {
                    One::Future(of) => match self.future(*of) {
                        Some(future) => wait_for(event_loop, future, timeout).await,
                        None => return,
                    },
                    One::Job(job) => wait_for(event_loop, Rc::clone(self).job(*job), timeout).await,
                };
                say(format!("wait_for {}", told(&outcome)));
                self.settle().await;
            }
            Op::Timeout { ns, sleep: time } => {
                let time = Duration::from_nanos(*time);
                let slept = timeout_at(event_loop, self.deadline(*ns), sleep(event_loop, time));
                say(format!("timeout, slept: {}", slept.await.is_ok()));
            }
            Op::Gather { of } => {
                let results = match of {
                    Many::Futures(of) => gather(event_loop, self.several(of)).await,
                    Many::Jobs(jobs) => gather(event_loop, self.jobs(jobs)).await,
                };
                let results = results.map(|all| join(all.iter().map(u64::to_string)));
                say(format!("gather {}", told(&results)));
            }
            Op::GatherOutcomes { of } => {
                let outcomes = match of {
                    Many::Futures(of) => gather_outcomes(event_loop, self.several(of)).await,
                    Many::Jobs(jobs) => gather_outcomes(event_loop, self.jobs(jobs)).await,
                };
                let outcomes = outcomes.map(|all| join(all.iter().map(told)));
                say(format!("gather_outcomes {}", told(&outcomes)));
            }
            Op::NestedGather { of } => {
                let inner: Vec<_> =
                    of.iter().map(|of| gather(event_loop, self.several(of))).collect();
                let results = gather(event_loop, inner).await;
                let results = results.map(|all| join(all.iter().flatten().map(u64::to_string)));
                say(format!("nested_gather {}", told(&results)));
            }
            Op::OverGather { of, by } => {
                let inner = gather(event_loop, self.several(of));
                self.note_end(me, inner.as_future());
                let outcome = match by {
                    By::Shield => Some(shield(event_loop, inner).await),
                    By::WaitFor(ns) => {
                        Some(wait_for(event_loop, inner, Duration::from_nanos(*ns)).await)
                    }
                    By::Wait => {
                        let all = wait(event_loop, [inner], ReturnWhen::AllCompleted, None).await;
                        all.0.first().map(|gather| gather.result())
                    }
                    By::AsCompleted => as_completed(event_loop, [inner], None).next().await,
                };
                let outcome = outcome.expect("it is done");
                let outcome = outcome.map(|all| join(all.iter().map(u64::to_string)));
                say(format!("over_gather {}", told(&outcome)));
                self.settle().await;
            }
            Op::Wait { of, when, ns } => {
                self.wait(me, of, *when, *ns).await;
                self.settle().await;
            }
            Op::AsCompleted { of, ns } => {
                let timeout = ns.map(Duration::from_nanos);
                let mut completed = match of {
                    Many::Futures(of) => {
                        let futures: Vec<_> = of.iter().filter_map(|&of| self.future(of)).collect();
                        as_completed(event_loop, futures, timeout)
                    }
                    Many::Jobs(jobs) => as_completed(event_loop, self.jobs(jobs), timeout),
                };
                while let Some(outcome) = completed.next().await {
                    say(format!("completed {}", told(&outcome)));
                }
            }
            Op::Get { rounds } => {
                let item = self.get().await;
                say(format!("got {}", *item));
                for _ in 0..*rounds {
                    sleep(event_loop, Duration::ZERO).await;
                }
            }
            Op::GetTimeout { ns } => {
                match timeout_at(event_loop, self.deadline(*ns), self.get()).await {
                    Ok(item) => say(format!("got {}", *item)),
                    Err(_) => say("got nothing in time".into()),
                }
            }
            Op::Join => {
                self.queue.join().await;
                say("joined".into());
            }
            Op::Hang => {
                let mut has_hung = false;
                poll_fn(|context| {
                    if std::mem::replace(&mut has_hung, true) {
                        return Poll::Ready(());
                    }
                    self.hanging.borrow_mut().push(context.waker().clone());
                    Poll::Pending
                })
                .await;
                say("woken".into());
            }
            _ => self.at_once(me, op),
        }
    }

    /// Carries out an operation that does not wait.
    fn at_once(self: &Rc<Self>, me: usize, op: &Op) {
        let event_loop = &self.event_loop;
        let say = |text: String| self.say(self.name(me), text);
        match op {
            Op::SetResult { of } => self.resolve(*of, self.name(me)),
            Op::SetException { of } => {
                let Some(future) = self.future(*of) else { return };
                let exception = Raised(self.value());
                let is_set = *of < FUTURES && future.as_future().set_exception(exception).is_ok();
                say(if is_set { "set exception" } else { "refused" }.into());
            }
            Op::Cancel { of } => {
                if let Some(future) = self.future(*of) {
                    say(format!("cancel {} {}", self.name(*of), future.cancel()));
                }
            }
            Op::PutAndCancel { of } => {
                self.put();
                self.at_once(me, &Op::Cancel { of: *of });
            }
            Op::EndAll { ends } => ends.iter().for_each(|op| self.at_once(me, op)),
            Op::CancelShield { of } => {
                if let Some(future) = self.future(*of) {
                    let shielded = shield(event_loop, future.clone());
                    let cancelled = !shielded.is(&future) && shielded.cancel();
                    say(format!("cancel shield {cancelled}"));
                }
            }
            Op::ForgetNested { of } => {
                let gather = gather(event_loop, vec![gather(event_loop, self.several(of))]);
                self.note_end(me, gather.as_future());
                self.forgotten.borrow_mut().push(Forgotten::Nested(gather));
            }
            Op::ForgetGather { of } => {
                let gather = match of {
                    Many::Futures(of) => gather(event_loop, self.several(of)),
                    Many::Jobs(jobs) => gather(event_loop, self.jobs(jobs)),
                };
                self.note_end(me, gather.as_future());
                self.forgotten.borrow_mut().push(Forgotten::Flat(gather));
            }
            Op::CancelGather | Op::DropGather => {
                let gather = self.forgotten.borrow_mut().pop();
                let is_cancelled = match (op, &gather) {
                    (Op::CancelGather, Some(Forgotten::Flat(gather))) => gather.cancel(),
                    (Op::CancelGather, Some(Forgotten::Nested(gather))) => gather.cancel(),
                    _ => false,
                };
                drop(gather);
                say(format!("gather cancelled {is_cancelled}"));
            }
            Op::CallSoon { then } => {
                let handle = event_loop.call_soon(self.callback("soon", me, *then));
                self.handles.borrow_mut().push(handle);
            }
            Op::CallLater { then, ns } => {
                let callback = self.callback("later", me, *then);
                let handle = event_loop.call_later(Duration::from_nanos(*ns), callback);
                self.handles.borrow_mut().push(handle);
            }
            Op::CallAt { then, ns } => {
                let at = event_loop.now() + Duration::from_nanos(*ns);
                let handle = event_loop.call_at(at, self.callback("at", me, *then));
                self.handles.borrow_mut().push(handle);
            }
            Op::CallPanic => {
                let run = Rc::clone(self);
                event_loop.call_soon(move || panic_with(run.value()));
            }
            Op::CancelHandle => {
                let handle = self.handles.borrow_mut().pop();
                if let Some(handle) = handle {
                    handle.cancel();
                }
            }
            Op::AddCallback { of, then, ns } => self.add_callback(*of, *then, *ns),
            Op::RemoveCallback => {
                let last = self.callbacks.borrow().last().copied();
                if let Some((of, id)) = last
                    && let Some(future) = self.future(of)
                {
                    say(format!("removed {}", future.remove_done_callback(id)));
                }
            }
            Op::Spawn => self.spawn_next(),
            Op::Detach { job } => {
                let (run, job) = (Rc::clone(self), *job);
                event_loop.spawn_detached(async move {
                    let outcome = Rc::clone(&run).job(job).await;
                    run.say("detached", outcome.unwrap_or_default());
                });
            }
            Op::Put => self.put(),
            Op::Probe { of } => {
                let key = event_loop.current_task();
                // The old runtime has no current task after a task has cancelled itself.
                let is_over = self.program.kind == Kind::Alone
                    && self.future(me).is_some_and(|future| future.done());
                let is_mine = key.is_some() && self.keys.borrow().get(me) == Some(&key);
                let is_current = is_mine && !is_over;
                say(format!("{} is {}, {is_current}", self.name(*of), self.state(*of)));
            }
            Op::Stop => {
                let may_stop = !self.is_main_running.get() || self.program.kind == Kind::Alone;
                if may_stop {
                    event_loop.stop();
                }
                say(format!("stop {may_stop}"));
            }
            Op::Wake { is_remote } => {
                let waker = self.hanging.borrow_mut().pop();
                match waker {
                    Some(waker) if *is_remote => {
                        let _ = std::thread::spawn(move || waker.wake()).join();
                    }
                    Some(waker) => waker.wake(),
                    None => {}
                }
            }
            Op::AtDrop { then } => self.at_drop.borrow_mut().push((me, Op::clone(then))),
            Op::Panic => panic_with(self.value()),
            other => panic!("it waits: {other:?}"),
        }
    }

    /// Yields once after a wait that may have ended by its deadline. What was waited for may be
    /// done, too, and is about to wake the task once more.
    async fn settle(&self) {
        if !self.is_paced() {
            sleep(&self.event_loop, Duration::ZERO).await;
        }
    }

    /// Returns a function that returns the time so many nanoseconds from now.
    fn deadline(&self, ns: u64) -> impl Fn() -> Instant + use<> {
        let deadline = self.event_loop.now() + Duration::from_nanos(ns);
        move || deadline
    }

    fn callback(self: &Rc<Self>, kind: &str, me: usize, then: usize) -> impl FnOnce() + use<> {
        let (run, actor) = (Rc::clone(self), format!("{kind}-{}", self.name(me)));
        move || run.resolve(then, actor)
    }

    fn put(&self) {
        self.queue.put_nowait(self.items.replace(self.items.get() + 1));
    }

    async fn get(&self) -> Item<u64> {
        let _getting = Getting::new(&self.getting);
        self.queue.get().await
    }

    fn jobs(self: &Rc<Self>, jobs: &[Job]) -> Vec<impl Coroutine<Output = JobResult> + use<>> {
        jobs.iter().map(|job| Rc::clone(self).job(*job)).collect()
    }

    async fn job(self: Rc<Self>, job: Job) -> JobResult {
        if job.ns > 0 {
            sleep(&self.event_loop, Duration::from_nanos(job.ns)).await;
        }
        for _ in 0..job.rounds {
            sleep(&self.event_loop, Duration::ZERO).await;
        }
        match job.end {
            End::Return => Ok(self.value()),
            End::Raise => Err(Raised(self.value())),
            End::Panic => panic_with(self.value()),
            End::Get => Ok(*self.get().await),
        }
    }

    /// Says when a gather is done that is not awaited, unless it is cancelled.
    fn note_end<T: 'static>(self: &Rc<Self>, me: usize, gather: &Future<T>) {
        let (run, actor) = (Rc::clone(self), format!("gather-of-{}", self.name(me)));
        gather.add_done_callback(move |gather| {
            if let Ok(exception) = gather.exception() {
                run.say(actor, format!("gathered {}", exception.is_none()));
            }
        });
    }

    async fn wait(self: &Rc<Self>, me: usize, of: &Many, when: When, ns: Option<u64>) {
        let return_when = match when {
            When::FirstCompleted => ReturnWhen::FirstCompleted,
            When::FirstException => ReturnWhen::FirstException,
            When::AllCompleted => ReturnWhen::AllCompleted,
        };
        let (event_loop, timeout) = (&self.event_loop, ns.map(Duration::from_nanos));
        let of = match of {
            Many::Futures(of) => of,
            Many::Jobs(jobs) if jobs.is_empty() => return,
            Many::Jobs(jobs) => {
                let (done, pending) = wait(event_loop, self.jobs(jobs), return_when, timeout).await;
                let done = join(done.iter().map(|future| told(&future.result())));
                return self.say(self.name(me), format!("wait [{done}] {}", pending.len()));
            }
        };
        let futures = self.several(of);
        if futures.is_empty() {
            return;
        }
        let (done, pending) = wait(event_loop, futures, return_when, timeout).await;
        let number = |future: &AnyFuture<u64>| {
            let futures = self.futures.borrow();
            let position =
                futures.iter().position(|it| it.as_ref().is_some_and(|it| it.is(future)));
            self.name(position.expect("it was given"))
        };
        let [done, pending] = [done, pending].map(|set| join(set.iter().map(number)));
        self.say(self.name(me), format!("wait [{done}] [{pending}]"));
    }

    fn add_callback(self: &Rc<Self>, of: usize, then: usize, ns: u64) {
        let Some(future) = self.future(of) else { return };
        let actor = format!("callback-{}", self.callbacks.borrow().len());
        let run = Rc::clone(self);
        let id = future.add_done_callback(move |_| {
            let is_task = run.event_loop.current_task().is_some();
            run.say(&actor, format!("called, in a task: {is_task}"));
            if run.is_paced() {
                let later = Rc::clone(&run);
                let resolve = move || later.resolve(then, &actor);
                run.event_loop.call_later(Duration::from_nanos(ns), resolve);
            } else {
                run.resolve(then, &actor);
            }
        });
        self.callbacks.borrow_mut().push((of, id));
    }
}

type JobResult = Result<u64, Raised>;

/// Counts a getter as long as it waits.
struct Getting<'r>(&'r Cell<usize>);

impl<'r> Getting<'r> {
    fn new(getting: &'r Cell<usize>) -> Self {
        getting.update(|getting| getting + 1);
        Self(getting)
    }
}

impl Drop for Getting<'_> {
    fn drop(&mut self) {
        self.0.update(|getting| getting - 1);
    }
}

fn join(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" ")
}
