//! `TaskGroup` and `timeout`: random programs run here, on a model, and on the asyncio of
//! CPython, and the logs are the same.
//!
//! Everything in a program happens at a time of its own, except in twins: tasks that do the
//! same at the same time. Events of one time are compared without their order, since a
//! cancelled task of asyncio ends a few callbacks later.
//!
//! `scopes.py` runs programs on CPython, 3.11 or newer; `recorded.txt` has logs of it, written
//! by the test that needs it with `ASYNCIO_RECORD=1`.

mod model;
mod program;
mod unit;

use std::cell::{Cell, RefCell};
use std::future::Future as Coroutine;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use asyncio::{AnyFuture, ExceptionGroup, TaskGroup, Timeout, raised, timeout};
use program::{Op, Step, program};
use proptest::prelude::*;
use stage2_coroutines::{EventLoop, Exception, sleep};
use test_support::event_loops::{run, virtual_loop};

/// An event: its time in nanoseconds, the path of its task, and what happened.
type Event = (u64, String, String);

const RECORDED: u64 = 60;
const WITNESSED: u64 = 2000;

/// What the tasks of a program share.
struct Run {
    event_loop: EventLoop,
    start: Instant,
    log: RefCell<Vec<Event>>,
}

/// A task with what it has made.
struct Actor {
    run: Rc<Run>,
    path: String,
    children: RefCell<Vec<AnyFuture<()>>>,
    num_created: Cell<usize>,
    last_group: RefCell<Option<TaskGroup>>,
    has_ended: Cell<bool>,
}

impl Actor {
    fn new(run: &Rc<Run>, path: String) -> Self {
        Self {
            run: Rc::clone(run),
            path,
            children: RefCell::default(),
            num_created: Cell::new(0),
            last_group: RefCell::default(),
            has_ended: Cell::new(false),
        }
    }

    fn say(&self, text: impl Into<String>) {
        let time = (self.run.event_loop.now() - self.run.start).as_nanos() as u64;
        self.run.log.borrow_mut().push((time, self.path.clone(), text.into()));
    }

    fn next_path(&self) -> String {
        self.num_created.set(self.num_created.get() + 1);
        format!("{}.{}", self.path, self.num_created.get())
    }

    /// Says how a scope has ended, and returns the error unless the scope catches it.
    fn ended(
        &self,
        what: &str,
        result: Result<(), Exception>,
        catches: bool,
    ) -> Result<(), Exception> {
        match result {
            Ok(()) => self.say(format!("{what}: done")),
            Err(exception) => {
                self.say(format!("{what}: {}", described(&exception)));
                if !catches {
                    return Err(exception);
                }
            }
        }
        Ok(())
    }

    fn steps<'a>(
        &'a self,
        steps: &'a [Step],
        group: Option<&'a TaskGroup>,
        deadline: Option<&'a Timeout>,
    ) -> Pin<Box<dyn Coroutine<Output = Result<(), Exception>> + 'a>> {
        Box::pin(async move {
            for Step(pause, op) in steps {
                sleep(&self.run.event_loop, Duration::from_nanos(*pause)).await;
                self.step(op, group, deadline).await?;
            }
            Ok(())
        })
    }

    async fn step(
        &self,
        op: &Op,
        group: Option<&TaskGroup>,
        deadline: Option<&Timeout>,
    ) -> Result<(), Exception> {
        let event_loop = &self.run.event_loop;
        match op {
            Op::Say => self.say("slept"),
            Op::Raise => return Err(raised(format!("error of {}", self.path))),
            Op::Children(count, steps) => {
                let Some(group) = group else { return Ok(()) };
                for _ in 0..*count {
                    let task = child(&self.run, self.next_path(), steps, group);
                    self.children.borrow_mut().push(task);
                }
            }
            Op::Cancel => {
                let task = self.children.borrow_mut().pop();
                if let Some(task) = task {
                    self.say(format!("cancel: {}", task.cancel()));
                }
            }
            Op::Group(catches, steps) => {
                let result = TaskGroup::run(event_loop, async |group| {
                    self.last_group.replace(Some(group.clone()));
                    self.steps(steps, Some(&group), deadline).await
                });
                return self.ended("group", result.await, *catches);
            }
            Op::Timeout(ns, catches, steps) => {
                let delay = ns.map(Duration::from_nanos);
                let result = timeout(event_loop, delay, async |timeout| {
                    self.steps(steps, group, Some(&timeout)).await
                });
                let result = result.await.unwrap_or_else(|elapsed| Err(elapsed.into()));
                return self.ended("timeout", result, *catches);
            }
            Op::Reschedule(ns) => {
                if let Some(deadline) = deadline {
                    let when = ns.map(|ns| event_loop.now() + Duration::from_nanos(ns));
                    deadline.reschedule(when)?;
                }
            }
            Op::Late => {
                let group = self.last_group.borrow().clone();
                if let Some(group) = group {
                    let created = group.create_task(async { Ok::<(), Exception>(()) });
                    self.say(format!("late: {}", created.is_ok()));
                }
            }
        }
        Ok(())
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        if !self.has_ended.get() {
            self.say("cancelled");
        }
    }
}

/// Creates a task of the program.
fn child(run: &Rc<Run>, path: String, steps: &[Step], group: &TaskGroup) -> AnyFuture<()> {
    let (run, steps, inside) = (Rc::clone(run), steps.to_vec(), group.clone());
    let task = group.create_task(async move {
        let actor = Actor::new(&run, path);
        let result = actor.steps(&steps, Some(&inside), None).await;
        actor.has_ended.set(true);
        result
    });
    task.expect("the group has tasks, so it has not ended")
}

fn described(exception: &Exception) -> String {
    match ExceptionGroup::of(exception) {
        Some(group) => {
            let mut errors: Vec<String> = group.exceptions().iter().map(described).collect();
            errors.sort();
            format!("({})", errors.join(", "))
        }
        None => exception.to_string(),
    }
}

/// Runs a program, and returns its log, sorted.
fn log_of(steps: &[Step]) -> Vec<Event> {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let start = event_loop.now();
    let this = Rc::new(Run { event_loop, start, log: RefCell::default() });
    let actor = Actor::new(&this, "main".to_owned());
    let result = run(&runtime, actor.steps(steps, None, None));
    actor.has_ended.set(true);
    let _ = actor.ended("main", result, true);
    sorted(this.log.take())
}

/// The events of one task keep their order.
fn sorted(mut log: Vec<Event>) -> Vec<Event> {
    log.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    log
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn scopes_do_what_the_model_does(choices in prop::collection::vec(any::<u8>(), 0..160)) {
        let steps = program(&choices);
        prop_assert_eq!(log_of(&steps), sorted(model::log_of(&steps)));
    }
}

/// Returns the program of this seed.
fn drawn(seed: u64) -> Vec<Step> {
    let mut state = seed;
    let choices: Vec<u8> = (0..200).map(|_| program::mixed(&mut state) as u8).collect();
    program(&choices)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scopes")
}

/// Runs programs on CPython, and returns their logs as text.
fn on_cpython(seeds: std::ops::Range<u64>) -> Vec<String> {
    let python = env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut process = Command::new(python)
        .arg("-B")
        .arg(folder().join("scopes.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let programs: String = seeds.map(|seed| format!("{:?}\n", drawn(seed))).collect();
    let write = thread::spawn(move || stdin.write_all(programs.as_bytes()));
    let output = process.wait_with_output().unwrap();
    write.join().unwrap().unwrap();
    assert!(output.status.success());
    logs(&String::from_utf8(output.stdout).unwrap())
}

fn logs(text: &str) -> Vec<String> {
    text.split("==\n").skip(1).map(str::to_owned).collect()
}

#[track_caller]
fn compare(logs: &[String]) {
    for (seed, theirs) in (0..).zip(logs) {
        let steps = drawn(seed);
        let line = |(time, path, text)| format!("{time} {path} {text}\n");
        let ours: String = log_of(&steps).into_iter().map(line).collect();
        assert_eq!(&ours, theirs, "program {seed}: {steps:?}");
    }
}

#[test]
fn scopes_do_what_was_recorded_of_cpython() {
    let recorded = logs(&fs::read_to_string(folder().join("recorded.txt")).unwrap());
    assert_eq!(recorded.len() as u64, RECORDED);
    compare(&recorded);
}

#[test]
#[ignore = "needs python3, 3.11 or newer"]
fn scopes_do_what_cpython_does() {
    let logs = on_cpython(0..WITNESSED);
    assert_eq!(logs.len() as u64, WITNESSED);
    compare(&logs);
    if env::var_os("ASYNCIO_RECORD").is_some() {
        let recorded = logs.iter().take(RECORDED as usize).map(|log| format!("==\n{log}"));
        fs::write(folder().join("recorded.txt"), recorded.collect::<String>()).unwrap();
    }
}
