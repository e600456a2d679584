//! The model: it computes what happens when, by recursion, without tasks and without waiting.
//! A task that is not cancelled by anybody does the same whatever happens beside it, so the
//! time at which it fails is known as soon as it is created.

use super::Event;
use super::program::{Op, Step};

/// A time after all others: for what is never cancelled.
const NEVER: u64 = u64::MAX;

/// A task, and the time at which it is cancelled.
#[derive(Clone)]
struct Child {
    path: String,
    steps: Vec<Step>,
    start: u64,
    cut: u64,
}

/// What a task comes to.
struct Life {
    end: u64,
    /// `None` if it was cancelled.
    result: Option<Result<(), Error>>,
    log: Vec<Event>,
    /// The tasks that it creates in the group that it is in itself.
    siblings: Vec<Child>,
}

/// An error as text; several for that of a group.
#[derive(Clone)]
enum Error {
    Text(String),
    Group(Vec<String>),
}

impl Error {
    fn described(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Group(texts) => format!("({})", texts.join(", ")),
        }
    }
}

/// The reason why a step does not end as it should.
enum Exit {
    Raised(Error),
    /// By the deadline or the group in this scope of the task.
    By(usize),
    Cancelled,
}

/// A scope that a task is in.
#[derive(Clone)]
enum Scope {
    Timeout(u64),
    /// A group with its number.
    Group(usize, Vec<Child>),
}

struct Walk {
    path: String,
    now: u64,
    cut: u64,
    scopes: Vec<Scope>,
    is_in_group: bool,
    siblings: Vec<Child>,
    /// The tasks that this one has created and not cancelled: the number of the group, or
    /// none for a sibling, and the place in the list.
    created: Vec<(Option<usize>, usize)>,
    num_created: usize,
    num_groups: usize,
    log: Vec<Event>,
}

pub(crate) fn log_of(steps: &[Step]) -> Vec<Event> {
    let main = Child { path: "main".into(), steps: steps.to_vec(), start: 0, cut: NEVER };
    let life = life(&main, false);
    let mut log = life.log;
    let described = match &life.result {
        Some(Err(error)) => error.described(),
        _ => "done".into(),
    };
    log.push((life.end, "main".into(), format!("main: {described}")));
    log
}

/// Walks through the life of a task.
fn life(child: &Child, is_in_group: bool) -> Life {
    let mut walk = Walk {
        path: child.path.clone(),
        now: child.start,
        cut: child.cut,
        scopes: Vec::new(),
        is_in_group,
        siblings: Vec::new(),
        created: Vec::new(),
        num_created: 0,
        num_groups: 0,
        log: Vec::new(),
    };
    let result = match walk.steps(&child.steps) {
        Ok(()) => Some(Ok(())),
        Err(Exit::Raised(error)) => Some(Err(error)),
        Err(_) => {
            walk.say("cancelled");
            None
        }
    };
    Life { end: walk.now, result, log: walk.log, siblings: walk.siblings }
}

/// Returns the lives of the children of a group that is aborted at a time, with their siblings.
fn lives(children: &[Child], abort: u64) -> Vec<Life> {
    let mut lives = Vec::new();
    let mut left = children.to_vec();
    while let Some(mut child) = left.pop() {
        if child.start < abort {
            child.cut = child.cut.min(abort);
            let mut life = life(&child, true);
            left.append(&mut life.siblings);
            lives.push(life);
        }
    }
    lives
}

/// Returns the time at which the first of these children fails.
fn failure(children: &[Child]) -> u64 {
    let failed = |life: &Life| matches!(life.result, Some(Err(_)));
    lives(children, NEVER).iter().filter(|it| failed(it)).map(|it| it.end).min().unwrap_or(NEVER)
}

impl Walk {
    fn say(&mut self, text: impl Into<String>) {
        self.log.push((self.now, self.path.clone(), text.into()));
    }

    /// Returns the first time at which something ends the current step, and what it is. If
    /// a task is cancelled when its own scope ends, that is because the scope has failed.
    fn interruption(&self) -> (u64, Exit) {
        let mut first = (NEVER, Exit::Cancelled);
        for (number, scope) in self.scopes.iter().enumerate() {
            let at = match scope {
                Scope::Timeout(deadline) => *deadline,
                Scope::Group(_, children) => failure(children),
            };
            if at < first.0 {
                first = (at, Exit::By(number));
            }
        }
        if self.cut < first.0 { (self.cut, Exit::Cancelled) } else { first }
    }

    /// Waits until a time, unless something comes before. What fails at the very time at which
    /// it is cancelled has failed, and is the reason.
    fn wait_until(&mut self, until: u64) -> Result<(), Exit> {
        let (at, exit) = self.interruption();
        self.now = until.min(at);
        if at < until { Err(exit) } else { Ok(()) }
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), Exit> {
        for Step(pause, op) in steps {
            self.wait_until(self.now + pause)?;
            self.step(op)?;
        }
        Ok(())
    }

    fn step(&mut self, op: &Op) -> Result<(), Exit> {
        match op {
            Op::Say => self.say("slept"),
            Op::Raise => {
                return Err(Exit::Raised(Error::Text(format!("error of {}", self.path))));
            }
            Op::Children(count, steps) => (0..*count).for_each(|_| self.create(steps)),
            Op::Cancel => self.cancel(),
            Op::Group(catches, steps) => {
                self.num_groups += 1;
                self.scopes.push(Scope::Group(self.num_groups, Vec::new()));
                let exit = self.steps(steps);
                let result = self.leave_group(exit)?;
                return self.ended("group", result, *catches);
            }
            Op::Timeout(ns, catches, steps) => {
                let number = self.scopes.len();
                self.scopes.push(Scope::Timeout(ns.map_or(NEVER, |ns| self.now + ns)));
                let exit = self.steps(steps);
                self.scopes.pop();
                let result = match exit {
                    Err(Exit::By(it)) if it == number => Err(Error::Text("timed out".into())),
                    Err(Exit::Raised(error)) => Err(error),
                    other => Ok(other?),
                };
                return self.ended("timeout", result, *catches);
            }
            Op::Reschedule(ns) => {
                let now = self.now;
                let is_timeout = |scope: &&mut Scope| matches!(scope, Scope::Timeout(_));
                if let Some(scope) = self.scopes.iter_mut().rev().find(is_timeout) {
                    *scope = Scope::Timeout(ns.map_or(NEVER, |ns| now + ns));
                }
            }
            Op::Late => {
                // The last group is open if this task is still in it.
                if self.num_groups > 0 {
                    let is_open = self.children(Some(self.num_groups)).is_some();
                    self.say(format!("late: {is_open}"));
                }
            }
        }
        Ok(())
    }

    /// Returns the tasks of a group that this task is in, by its number.
    fn children(&mut self, group: Option<usize>) -> Option<&mut Vec<Child>> {
        let Some(group) = group else { return Some(&mut self.siblings) };
        self.scopes.iter_mut().find_map(|scope| match scope {
            Scope::Group(number, children) if *number == group => Some(children),
            _ => None,
        })
    }

    fn create(&mut self, steps: &[Step]) {
        let innermost = self.scopes.iter().rev().find_map(|scope| match scope {
            Scope::Group(number, _) => Some(*number),
            Scope::Timeout(_) => None,
        });
        if innermost.is_none() && !self.is_in_group {
            return;
        }
        self.num_created += 1;
        let path = format!("{}.{}", self.path, self.num_created);
        let child = Child { path, steps: steps.to_vec(), start: self.now, cut: NEVER };
        let children = self.children(innermost).unwrap();
        children.push(child);
        let place = children.len() - 1;
        self.created.push((innermost, place));
    }

    fn cancel(&mut self) {
        let Some((group, place)) = self.created.pop() else { return };
        let now = self.now;
        let is_pending = self.children(group).is_some_and(|children| {
            let is_pending = life(&children[place], true).end > now;
            if is_pending {
                children[place].cut = now;
            }
            is_pending
        });
        self.say(format!("cancel: {is_pending}"));
    }

    /// Ends a group: its tasks go on to their ends, or to the first failure.
    fn leave_group(&mut self, mut exit: Result<(), Exit>) -> Result<Result<(), Error>, Exit> {
        let number = self.scopes.len() - 1;
        let Some(Scope::Group(_, children)) = self.scopes.last().cloned() else { unreachable!() };
        if exit.is_ok() {
            let abort = failure(&children);
            let end = lives(&children, abort).iter().map(|life| life.end).max();
            exit = self.wait_until(end.map_or(self.now, |end| end.max(self.now)));
            if exit.is_ok() && abort != NEVER {
                exit = Err(Exit::By(number));
            }
        }
        self.scopes.pop();
        let mut errors = Vec::new();
        // Whatever is left ends now.
        let abort = if exit.is_ok() { NEVER } else { self.now };
        for life in lives(&children, abort) {
            if let Some(Err(error)) = &life.result {
                errors.push(error.described());
            }
            self.log.extend(life.log);
        }
        match exit {
            Err(Exit::Raised(error)) => errors.push(error.described()),
            Err(Exit::By(it)) if it == number => {}
            other => other?,
        }
        errors.sort();
        Ok(if errors.is_empty() { Ok(()) } else { Err(Error::Group(errors)) })
    }

    /// Says how a scope has ended, and raises its error unless it catches that.
    fn ended(&mut self, what: &str, result: Result<(), Error>, catches: bool) -> Result<(), Exit> {
        let described = result.as_ref().err().map_or("done".to_owned(), Error::described);
        self.say(format!("{what}: {described}"));
        match result {
            Err(error) if !catches => Err(Exit::Raised(error)),
            _ => Ok(()),
        }
    }
}
