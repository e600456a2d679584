//! The programs of the differential test, as data, and how they are drawn and made
//! smaller.

use serde::{Deserialize, Serialize};

/// The number of futures that belong to no task. They have the first numbers, and
/// the tasks have the next ones, since a task is a future.
pub(crate) const FUTURES: usize = 3;
const MAX_TASKS: usize = 5;

/// A program: a few tasks that work on the same futures, on a queue and on each other,
/// and main coroutines that run one after the other beside them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) kind: Kind,
    /// True if the outcomes of futures are looked at, not only whether they are done.
    /// Otherwise an exception that nobody retrieves is a complaint in the end.
    pub(crate) looks: bool,
    /// The number of tasks that are there when the loop runs for the first time.
    pub(crate) at_first: usize,
    pub(crate) tasks: Vec<Script>,
    pub(crate) mains: Vec<Main>,
}

/// What makes the logs of a program comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Each operation begins at a time of its own. Then everything that happens at one
    /// time follows from one operation, and its order among tasks is not compared: a
    /// cancelled task ends at once here, and a few callbacks later in asyncio.
    Paced,
    /// Nothing waits between two operations, and deadlines are equal now and then. The
    /// order of all events is compared. Tasks are not cancelled.
    Free,
    /// As free, and with what only another version of this runtime can do the same way:
    /// cancelled tasks, destructors that act, a closed loop. Nothing resolves what is
    /// pending in the end.
    Alone,
}

/// What a task does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Script {
    /// True for `Task::spawn`, whose coroutine cannot raise.
    pub(crate) is_plain: bool,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Step {
    /// The nanoseconds before the operation, in a paced program.
    pub(crate) pause: u64,
    pub(crate) op: Op,
}

/// A main coroutine: run by `run_until_complete`, or by `run_sync` with a timeout.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Main {
    /// What happens before the run, while the loop does not run.
    pub(crate) before: Vec<Op>,
    pub(crate) timeout: Option<u64>,
    pub(crate) steps: Vec<Step>,
}

/// An operation. A future is given by its number, a time in nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(crate) enum Op {
    // These wait.
    Sleep {
        ns: u64,
    },
    Await {
        of: usize,
    },
    Shield {
        of: One,
    },
    /// A shield that is given up at a deadline.
    TimeoutShield {
        of: usize,
        ns: u64,
    },
    WaitFor {
        of: One,
        ns: u64,
    },
    /// A sleep within `timeout_at`.
    Timeout {
        ns: u64,
        sleep: u64,
    },
    Gather {
        of: Many,
    },
    GatherOutcomes {
        of: Many,
    },
    /// A gather of two gathers.
    NestedGather {
        of: [Vec<usize>; 2],
    },
    /// A gather that is the argument of another combinator.
    OverGather {
        of: Vec<usize>,
        by: By,
    },
    Wait {
        of: Many,
        when: When,
        ns: Option<u64>,
    },
    AsCompleted {
        of: Many,
        ns: Option<u64>,
    },
    /// Gets an item, and works on it for so many rounds.
    Get {
        rounds: usize,
    },
    GetTimeout {
        ns: u64,
    },
    Join,
    /// Waits for a waker that the program keeps.
    Hang,
    // These do not.
    SetResult {
        of: usize,
    },
    SetException {
        of: usize,
    },
    Cancel {
        of: usize,
    },
    /// Puts an item in and cancels a task in one step: a getter that has been woken for the
    /// item does not take it.
    PutAndCancel {
        of: usize,
    },
    /// Ends futures in one step.
    EndAll {
        ends: Vec<Op>,
    },
    CancelShield {
        of: usize,
    },
    /// Gathers that are not awaited: the first is nested in another one.
    ForgetNested {
        of: Vec<usize>,
    },
    ForgetGather {
        of: Many,
    },
    CancelGather,
    DropGather,
    /// Callbacks that resolve a future.
    CallSoon {
        then: usize,
    },
    CallLater {
        then: usize,
        ns: u64,
    },
    CallAt {
        then: usize,
        ns: u64,
    },
    /// A callback that panics.
    CallPanic,
    /// Cancels the last of these callbacks.
    CancelHandle,
    /// Adds a callback to the first future that resolves the second; in a paced
    /// program after this time, so that two callbacks do not compete.
    AddCallback {
        of: usize,
        then: usize,
        ns: u64,
    },
    RemoveCallback,
    Spawn,
    Detach {
        job: Job,
    },
    Put,
    Probe {
        of: usize,
    },
    Stop,
    /// Wakes what hangs: from this thread, or from another one.
    Wake {
        is_remote: bool,
    },
    /// Does this when the coroutine is dropped.
    AtDrop {
        then: Box<Op>,
    },
    // These end the task.
    Raise,
    Panic,
}

/// What waits for a gather.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum By {
    Shield,
    WaitFor(u64),
    Wait,
    AsCompleted,
}

/// The argument of a combinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum One {
    Future(usize),
    Job(Job),
}

/// The arguments of a combinator: all futures, or all coroutines.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Many {
    Futures(Vec<usize>),
    Jobs(Vec<Job>),
}

/// A small coroutine: it takes some time, some rounds, and ends.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) ns: u64,
    pub(crate) rounds: usize,
    pub(crate) end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    Return,
    Raise,
    Panic,
    Get,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum When {
    FirstCompleted,
    FirstException,
    AllCompleted,
}

impl Program {
    /// Draws the program of this seed: the same one every time.
    pub(crate) fn new(seed: u64, kinds: &[Kind]) -> Self {
        let mut random = Random(seed);
        let kind = random.one_of(kinds);
        let tasks = 1 + random.below(MAX_TASKS);
        let at_first = 1 + random.below(tasks);
        let is_about_queue = random.one_in(4);
        let is_for_old = kinds.contains(&Kind::Alone);
        let draw = &mut Draw { random, kind, is_for_old, tasks, at_first, is_about_queue };
        Self {
            kind,
            looks: draw.random.one_in(2),
            at_first,
            tasks: (FUTURES..FUTURES + tasks).map(|me| draw.script(me)).collect(),
            // The old runtime polls a main coroutine early if the one before has left a waker.
            mains: (0..draw.random.below(if kind == Kind::Alone { 2 } else { 4 }))
                .map(|_| draw.main())
                .collect(),
        }
    }

    /// Returns programs that do a little less than this one, those first that do much less.
    /// The last step stays: a task ends at a time of its own.
    pub(crate) fn smaller(&self) -> Vec<Self> {
        let mut smaller = Vec::new();
        for number in 0..self.mains.len() {
            let mut program = self.clone();
            program.mains.remove(number);
            smaller.push(program);
        }
        let mut remove = |length: usize, list: &dyn Fn(&mut Self) -> &mut Vec<Step>| {
            let sizes = [length, length / 2, 1];
            for size in sizes.into_iter().filter(|size| *size > 0) {
                for start in (0..length).step_by(size) {
                    let mut program = self.clone();
                    list(&mut program).drain(start..length.min(start + size));
                    smaller.push(program);
                }
            }
        };
        for (number, task) in self.tasks.iter().enumerate() {
            remove(task.steps.len() - 1, &|program| &mut program.tasks[number].steps);
        }
        for (number, main) in self.mains.iter().enumerate() {
            remove(main.steps.len() - 1, &|program| &mut program.mains[number].steps);
        }
        for (number, main) in self.mains.iter().enumerate() {
            for at in 0..main.before.len() {
                let mut program = self.clone();
                program.mains[number].before.remove(at);
                smaller.push(program);
            }
        }
        smaller
    }
}

/// Sebastiano Vigna's generator splitmix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// Returns a time that no other has. Sums of such times are all different, too.
    fn own_time(&mut self) -> u64 {
        1 + (self.next() >> 24)
    }
}

/// Draws the operations of one program.
struct Draw {
    random: Random,
    kind: Kind,
    /// The old runtime's `as_completed` leaves wakers behind when its time is up, and a gather
    /// in a gather is a task there.
    is_for_old: bool,
    tasks: usize,
    at_first: usize,
    /// True if every second operation is one of the queue.
    is_about_queue: bool,
}

impl Draw {
    fn script(&mut self, me: usize) -> Script {
        let is_plain = self.random.one_in(3);
        let mut steps = Vec::new();
        for _ in 0..self.random.below(14) {
            steps.push(self.step(me));
            let is_gather = matches!(
                steps.last().map(|step| &step.op),
                Some(Op::ForgetGather { .. } | Op::ForgetNested { .. })
            );
            // Before its children are done by themselves.
            if is_gather && self.kind != Kind::Free && self.random.one_in(2) {
                steps.push(self.pause(Op::CancelGather));
            }
        }
        match self.random.below(8) {
            0 if !is_plain => steps.push(self.pause(Op::Raise)),
            1 => steps.push(self.pause(Op::Panic)),
            // So that a task ends at a time of its own, too.
            _ => steps.push(self.pause(Op::Probe { of: me })),
        }
        Script { is_plain, steps }
    }

    fn main(&mut self) -> Main {
        // It awaits what is there when the loop runs for the first time.
        let me = FUTURES + self.at_first;
        let before = (0..self.random.below(4)).map(|_| self.before()).collect();
        let is_sync = self.kind != Kind::Free && self.random.one_in(2);
        let timeout = is_sync.then(|| 4 * self.time());
        let mut steps: Vec<Step> = (0..self.random.below(5)).map(|_| self.step(me)).collect();
        steps.push(self.pause(Op::Probe { of: 0 }));
        Main { before, timeout, steps }
    }

    fn step(&mut self, me: usize) -> Step {
        let op = self.op(me);
        self.pause(op)
    }

    fn pause(&mut self, op: Op) -> Step {
        Step { pause: self.random.own_time(), op }
    }

    /// Returns a time: in an unpaced program one that others have as well.
    fn time(&mut self) -> u64 {
        match self.kind {
            Kind::Paced => self.random.own_time(),
            Kind::Free | Kind::Alone => 10 * (1 + self.random.below(3) as u64),
        }
    }

    fn future(&mut self) -> usize {
        self.random.below(FUTURES)
    }

    fn any(&mut self) -> usize {
        self.random.below(FUTURES + self.tasks)
    }

    /// Returns the number of a future, or of an earlier task: a circle of tasks is an
    /// error here, and endless in asyncio.
    fn earlier(&mut self, me: usize) -> usize {
        if self.kind == Kind::Alone { self.any() } else { self.random.below(me) }
    }

    fn several(&mut self, me: usize) -> Vec<usize> {
        (0..self.random.below(4)).map(|_| self.earlier(me)).collect()
    }

    fn job(&mut self) -> Job {
        let ends = [End::Return, End::Return, End::Return, End::Raise, End::Panic, End::Get];
        let ns = if self.kind == Kind::Paced || self.random.one_in(3) { self.time() } else { 0 };
        Job { ns, rounds: self.random.below(3), end: self.random.one_of(&ends) }
    }

    fn one(&mut self, me: usize) -> One {
        match self.random.below(3) {
            0 => One::Job(self.job()),
            _ => One::Future(self.earlier(me)),
        }
    }

    fn many(&mut self, me: usize) -> Many {
        match self.random.below(3) {
            0 => Many::Jobs((0..self.random.below(4)).map(|_| self.job()).collect()),
            _ => Many::Futures(self.several(me)),
        }
    }

    /// Returns numbers in their order: asyncio takes these as a set.
    fn set(&mut self, me: usize) -> Many {
        match self.many(me) {
            Many::Futures(mut set) => {
                set.sort_unstable();
                Many::Futures(set)
            }
            jobs @ Many::Jobs(_) => jobs,
        }
    }

    /// Returns operations that end all futures, in any order.
    fn ends(&mut self) -> Vec<Op> {
        let first = self.future();
        let step = 1 + self.random.below(FUTURES - 1);
        let all = (0..FUTURES).map(|number| (first + number * step) % FUTURES);
        all.map(|of| match self.random.below(4) {
            0 => Op::SetResult { of },
            1 => Op::Cancel { of },
            _ => Op::SetException { of },
        })
        .collect()
    }

    fn timeout(&mut self) -> Option<u64> {
        let time = self.time();
        self.random.one_in(2).then_some(time)
    }

    /// Returns the argument of a `wait_for`. What asyncio cancels here has nothing to do then,
    /// since it would do it a few callbacks later.
    fn cancellable(&mut self, me: usize) -> One {
        match self.one(me) {
            One::Future(_) if self.kind == Kind::Free => One::Future(self.future()),
            One::Job(job) if self.kind != Kind::Alone && job.end == End::Get => {
                One::Job(Job { end: End::Return, ..job })
            }
            one => one,
        }
    }

    fn op(&mut self, me: usize) -> Op {
        let (is_free, is_alone) = (self.kind == Kind::Free, self.kind == Kind::Alone);
        if is_alone && self.random.one_in(4) {
            return self.alone();
        }
        if self.is_about_queue && self.random.one_in(2) {
            return self.of_queue();
        }
        loop {
            return match self.random.below(53) {
                0..3 => Op::Sleep { ns: 0 },
                3 => Op::Sleep { ns: self.time() },
                4..7 => Op::Await { of: self.earlier(me) },
                7..9 => Op::Shield { of: self.one(me) },
                9 => Op::CancelShield { of: self.earlier(me) },
                10 if !is_free => Op::TimeoutShield { of: self.earlier(me), ns: self.time() },
                11..13 => Op::WaitFor { of: self.cancellable(me), ns: self.time() },
                13..16 => Op::Gather { of: self.many(me) },
                16 => Op::GatherOutcomes { of: self.many(me) },
                17 => Op::ForgetGather { of: self.many(me) },
                18..20 => {
                    let all = [When::FirstCompleted, When::FirstException, When::AllCompleted];
                    let when = self.random.one_of(&all);
                    Op::Wait { of: self.set(me), when, ns: self.timeout() }
                }
                20 => {
                    let is_ordered = self.kind == Kind::Paced || (is_free && !self.is_for_old);
                    // Not at the time of anything else: here the time is up a round later.
                    let ns = self.random.own_time();
                    let has_timeout = is_ordered && self.random.one_in(2);
                    Op::AsCompleted { of: self.set(me), ns: has_timeout.then_some(ns) }
                }
                21..23 => Op::SetResult { of: self.future() },
                // Sometimes of a task, which refuses it.
                23 => Op::SetResult { of: self.any() },
                24 => Op::SetException { of: self.future() },
                25 => Op::Cancel { of: if is_free { self.future() } else { self.any() } },
                26 => Op::CallLater { then: self.future(), ns: self.time() },
                27..29 => Op::AddCallback { of: self.any(), then: self.future(), ns: self.time() },
                29 => Op::RemoveCallback,
                30 => Op::Spawn,
                31 => Op::Probe { of: self.any() },
                32..39 => self.of_queue(),
                39 => Op::EndAll { ends: self.ends() },
                40 => Op::CallSoon { then: self.future() },
                41 => Op::CallAt { then: self.future(), ns: self.time() },
                42..44 => Op::CancelHandle,
                44 => Op::CallPanic,
                45 => Op::Detach { job: Job { end: End::Return, ..self.job() } },
                46 if !self.is_for_old => match self.random.below(2) {
                    0 => Op::NestedGather { of: [self.several(me), self.several(me)] },
                    _ => self.over_gather(me),
                },
                47 if !is_free && !self.is_for_old => Op::ForgetNested { of: self.several(me) },
                48 if !is_free => Op::CancelGather,
                49 if !is_free => Op::ForgetGather { of: Many::Futures(self.several(me)) },
                50 => Op::Stop,
                51 => {
                    let (ns, sleep) = (self.time(), self.time());
                    // Both at once: asyncio gives up, and here the sleep counts.
                    Op::Timeout {
                        ns,
                        sleep: if ns == sleep && is_free { 2 * sleep } else { sleep },
                    }
                }
                52 => match self.random.below(2) {
                    0 => Op::Sleep { ns: self.time() },
                    _ => Op::CallLater { then: self.future(), ns: self.time() },
                },
                _ => continue,
            };
        }
    }

    fn over_gather(&mut self, me: usize) -> Op {
        let all = [By::Shield, By::WaitFor(self.time()), By::Wait, By::AsCompleted];
        let by = self.random.one_of(&all);
        // See `cancellable`.
        let is_cancelled = self.kind == Kind::Free && matches!(by, By::WaitFor(_));
        let of = if is_cancelled { vec![self.future()] } else { self.several(me) };
        Op::OverGather { of, by }
    }

    fn of_queue(&mut self) -> Op {
        match self.random.below(8) {
            0..3 => Op::Put,
            3..6 => Op::Get { rounds: self.random.below(3) },
            6 if self.kind == Kind::Free => Op::Put,
            6 => Op::PutAndCancel { of: self.any() },
            _ if self.random.one_in(2) => Op::Join,
            // Not at the time of a put: here the item would be taken.
            _ => Op::GetTimeout { ns: self.random.own_time() },
        }
    }

    /// Returns an operation that CPython cannot witness.
    fn alone(&mut self) -> Op {
        match self.random.below(12) {
            0..3 => Op::DropGather,
            3..6 => Op::Hang,
            6..9 => Op::Wake { is_remote: self.random.one_in(2) },
            _ => Op::AtDrop { then: Box::new(self.before()) },
        }
    }

    /// Returns an operation that does not wait, for outside a run.
    fn before(&mut self) -> Op {
        let is_alone = self.kind == Kind::Alone;
        loop {
            return match self.random.below(18) {
                0..3 => Op::SetResult { of: self.future() },
                3 => Op::SetException { of: self.future() },
                4 => Op::Cancel { of: if is_alone { self.any() } else { self.future() } },
                5..7 => Op::Spawn,
                7..9 => Op::CallSoon { then: self.future() },
                9 => Op::CallLater { then: self.future(), ns: self.time() },
                10 => Op::CancelHandle,
                11..13 => Op::Put,
                13 => Op::Detach { job: Job { end: End::Return, ..self.job() } },
                14..16 if is_alone => Op::Wake { is_remote: self.random.one_in(2) },
                16 if is_alone => Op::Stop,
                17 if is_alone => Op::CallPanic,
                _ => continue,
            };
        }
    }
}
