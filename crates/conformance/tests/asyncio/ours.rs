//! The interpreter of the programs on the runtime of stage 2.

use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::rc::Rc;
use std::time::{Duration, Instant};

use stage2_coroutines::{
    CallbackId, EventLoop, Exception, Future, Gather, ReturnWhen, Task, as_completed, gather,
    gather_outcomes, shield, sleep, wait, wait_for,
};
use stage3_queue::JoinableQueue;

use crate::program::{FUTURES, Op, Program, When};

struct Run {
    event_loop: EventLoop,
    start: Instant,
    programs: Vec<Vec<(u64, Op)>>,
    paced: bool,
    queue: JoinableQueue<u64>,
    futures: RefCell<Vec<Option<Future<u64>>>>,
    callbacks: RefCell<Vec<(usize, CallbackId)>>,
    /// The gathers that are not awaited.
    forgotten: RefCell<Vec<Gather<u64>>>,
    log: RefCell<Vec<String>>,
    spawned: Cell<usize>,
    values: Cell<u64>,
    items: Cell<u64>,
    is_over: Cell<bool>,
}

/// The exception that a program raises.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Raised(u64);

/// A time after all others, for the states in which the futures are left.
const END: u64 = 1 << 63;

fn name(number: usize) -> String {
    format!("{}{number}", if number < FUTURES { "f" } else { "t" })
}

/// Runs a program until nothing can happen any more, and returns its log: one line
/// for each event, with its time in nanoseconds and its actor.
pub(crate) fn run(program: Program) -> Vec<String> {
    let event_loop = EventLoop::in_virtual_time();
    let futures = (0..FUTURES).map(|_| Some(Future::new(&event_loop)));
    let run = Rc::new(Run {
        start: event_loop.now(),
        paced: program.paced,
        queue: JoinableQueue::new(&event_loop),
        futures: RefCell::new(futures.chain(program.tasks.iter().map(|_| None)).collect()),
        programs: program.tasks,
        callbacks: RefCell::default(),
        forgotten: RefCell::default(),
        log: RefCell::default(),
        spawned: Cell::new(0),
        values: Cell::new(0),
        items: Cell::new(0),
        is_over: Cell::new(false),
        event_loop,
    });
    (0..program.at_first).for_each(|_| run.spawn_next());
    let ended = run.event_loop.run_forever().unwrap_err();
    assert_eq!(ended.kind(), std::io::ErrorKind::Deadlock);
    for number in 0..run.futures.borrow().len() {
        let line = format!("{END} end {} {}", name(number), run.state(number));
        run.log.borrow_mut().push(line);
    }
    run.is_over.set(true);
    run.event_loop.close();
    // They hold the run, through the callbacks of their futures.
    run.futures.take();
    run.forgotten.take();
    run.log.take()
}

fn told(outcome: &Result<impl Display, Exception>) -> String {
    match outcome {
        Ok(value) => value.to_string(),
        Err(Exception::Raised(error)) => format!("raised {error}"),
        Err(Exception::TimedOut) => "timed out".into(),
        Err(Exception::Cancelled) => "cancelled".into(),
        Err(_) => "invalid".into(),
    }
}

/// Says that a task is cancelled, when its coroutine is dropped.
struct CancelGuard {
    run: Rc<Run>,
    me: usize,
    has_ended: bool,
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        if !self.has_ended && !self.run.is_over.get() {
            self.run.say(name(self.me), "cancelled");
        }
    }
}

impl Run {
    fn say(&self, actor: impl Display, text: impl Display) {
        let time = self.event_loop.now() - self.start;
        self.log.borrow_mut().push(format!("{} {actor} {text}", time.as_nanos()));
    }

    fn future(&self, of: usize) -> Option<Future<u64>> {
        self.futures.borrow()[of].clone()
    }

    /// Returns the future of this number, shared: others may await it, too.
    fn shared(&self, of: usize) -> Option<Future<u64>> {
        self.future(of).map(Future::shared)
    }

    fn several(&self, of: &[usize]) -> Vec<Future<u64>> {
        of.iter().filter_map(|&of| self.future(of)).collect()
    }

    fn state(&self, of: usize) -> String {
        match self.future(of) {
            None => "not spawned".into(),
            Some(future) if future.done() => told(&future.result()),
            Some(_) => "pending".into(),
        }
    }

    fn value(&self) -> u64 {
        self.values.update(|values| values + 1);
        self.values.get()
    }

    fn resolve(&self, of: usize, actor: impl Display) {
        let Some(future) = self.future(of) else { return };
        let is_set = future.set_result(self.value()).is_ok();
        self.say(actor, if is_set { "set" } else { "refused" });
    }

    fn set_exception(&self, me: usize, of: usize) {
        let Some(future) = self.future(of) else { return };
        let is_set = future.set_exception(Raised(self.value())).is_ok();
        self.say(name(me), if is_set { "set exception" } else { "refused" });
    }

    fn cancel(&self, me: usize, of: usize) {
        if let Some(future) = self.future(of) {
            self.say(name(me), format!("cancel {} {}", name(of), future.cancel()));
        }
    }

    fn spawn_next(self: &Rc<Self>) {
        let number = self.spawned.get();
        if number < self.programs.len() {
            self.spawned.set(number + 1);
            let me = FUTURES + number;
            let task = Task::try_spawn(&self.event_loop, Rc::clone(self).task(me));
            self.futures.borrow_mut()[me] = Some(task.into());
        }
    }

    async fn task(self: Rc<Self>, me: usize) -> Result<u64, Raised> {
        let mut guard = CancelGuard { run: Rc::clone(&self), me, has_ended: false };
        for (pause, op) in &self.programs[me - FUTURES] {
            if self.paced {
                sleep(&self.event_loop, Duration::from_nanos(*pause)).await;
            }
            if let Err(raised) = self.op(me, op).await {
                guard.has_ended = true;
                return Err(raised);
            }
        }
        guard.has_ended = true;
        Ok(me as u64)
    }

    async fn op(self: &Rc<Self>, me: usize, op: &Op) -> Result<(), Raised> {
        let event_loop = &self.event_loop;
        let say = |text: String| self.say(name(me), text);
        match op {
            Op::Sleep(ns) => {
                sleep(event_loop, Duration::from_nanos(*ns)).await;
                say("slept".into());
            }
            Op::Await(of) => {
                if let Some(future) = self.shared(*of) {
                    say(format!("await {}", told(&future.await)));
                }
            }
            Op::Shield(of) => {
                if let Some(future) = self.future(*of) {
                    say(format!("shield {}", told(&shield(event_loop, future).await)));
                }
            }
            Op::CancelShield(of) => {
                if let Some(future) = self.future(*of) {
                    let shielded = shield(event_loop, future.clone());
                    let cancelled = !shielded.is(&future) && shielded.cancel();
                    say(format!("cancel shield {cancelled}"));
                }
            }
            Op::WaitFor(of, ns) => {
                if let Some(future) = self.shared(*of) {
                    let timeout = Duration::from_nanos(*ns);
                    let outcome = wait_for(event_loop, future, timeout).await;
                    say(format!("wait_for {}", told(&outcome)));
                }
            }
            Op::Gather(of) => {
                let results = gather(event_loop, self.several(of)).await;
                let results = results.map(|all| join(all.iter().map(u64::to_string)));
                say(format!("gather {}", told(&results)));
            }
            Op::GatherOutcomes(of) => {
                let outcomes = gather_outcomes(event_loop, self.several(of)).await;
                let outcomes = outcomes.map(|all| join(all.iter().map(told)));
                say(format!("gather_outcomes {}", told(&outcomes)));
            }
            Op::ForgetGather(of) => {
                let gather = gather(event_loop, self.several(of));
                let run = Rc::clone(self);
                gather.add_done_callback(move |gather| {
                    if let Ok(exception) = gather.exception() {
                        run.say(
                            format!("gather-of-{}", name(me)),
                            format!("gathered {}", exception.is_none()),
                        );
                    }
                });
                self.forgotten.borrow_mut().push(gather);
            }
            Op::Wait(of, when, ns) => self.wait(me, of, *when, *ns).await,
            Op::AsCompleted(of, ns) => {
                let timeout = ns.map(Duration::from_nanos);
                let futures: Vec<_> = of.iter().filter_map(|&of| self.shared(of)).collect();
                let mut completed = as_completed(event_loop, futures, timeout);
                while let Some(outcome) = completed.next().await {
                    say(format!("completed {}", told(&outcome)));
                }
            }
            Op::SetResult(of) => self.resolve(*of, name(me)),
            Op::SetException(of) => self.set_exception(me, *of),
            Op::Cancel(of) => self.cancel(me, *of),
            Op::EndAll(ops) => {
                for op in ops {
                    match op {
                        Op::SetResult(of) => self.resolve(*of, name(me)),
                        Op::SetException(of) => self.set_exception(me, *of),
                        Op::Cancel(of) => self.cancel(me, *of),
                        other => panic!("no end: {other:?}"),
                    }
                }
            }
            Op::SetLater(of, ns) => {
                let (run, of) = (Rc::clone(self), *of);
                let resolve = move || run.resolve(of, format!("later-{}", name(me)));
                event_loop.call_later(Duration::from_nanos(*ns), resolve);
            }
            Op::AddCallback(of, then, ns) => self.add_callback(*of, *then, *ns),
            Op::RemoveCallback => {
                let last = self.callbacks.borrow().last().copied();
                if let Some((of, id)) = last {
                    let removed = self.future(of).unwrap().remove_done_callback(id);
                    say(format!("removed {removed}"));
                }
            }
            Op::Spawn => self.spawn_next(),
            Op::Put => self.queue.put_nowait(self.items.replace(self.items.get() + 1)),
            Op::Get => {
                let item = *self.queue.get().await;
                say(format!("got {item}"));
            }
            Op::Join => {
                self.queue.join().await;
                say("joined".into());
            }
            Op::Probe(of) => {
                let is_current = event_loop.current_task().is_some_and(|key| {
                    let by_name = event_loop.task(key).is_some();
                    by_name && self.future(me).is_some_and(|future| !future.done())
                });
                say(format!("{} is {}, {is_current}", name(*of), self.state(*of)));
            }
            Op::Raise => return Err(Raised(self.value())),
        }
        Ok(())
    }

    async fn wait(&self, me: usize, of: &[usize], when: When, ns: Option<u64>) {
        let futures = self.several(of);
        if futures.is_empty() {
            return;
        }
        let return_when = match when {
            When::FirstCompleted => ReturnWhen::FirstCompleted,
            When::FirstException => ReturnWhen::FirstException,
            When::AllCompleted => ReturnWhen::AllCompleted,
        };
        let timeout = ns.map(Duration::from_nanos);
        let (done, pending) = wait(&self.event_loop, futures, return_when, timeout).await;
        let number = |future: &Future<u64>| {
            let futures = self.futures.borrow();
            name(futures.iter().flatten().position(|other| other.is(future)).unwrap())
        };
        let [done, pending] = [done, pending].map(|set| join(set.iter().map(number)));
        self.say(name(me), format!("wait [{done}] [{pending}]"));
    }

    fn add_callback(self: &Rc<Self>, of: usize, then: usize, ns: u64) {
        let Some(future) = self.future(of) else { return };
        let actor = format!("callback-{}", self.callbacks.borrow().len());
        let run = Rc::clone(self);
        let id = future.add_done_callback(move |_| {
            let is_task = run.event_loop.current_task().is_some();
            run.say(&actor, format!("called, in a task: {is_task}"));
            if run.paced {
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

fn join(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" ")
}
