//! The programs of the differential test, as data.

use std::fmt::Write;

/// The number of futures that belong to no task. They have the first numbers, and
/// the tasks have the next ones, since a task is a future.
pub(crate) const FUTURES: usize = 3;
const MAX_TASKS: usize = 5;

/// A program: a few tasks, each a list of operations on the same futures, on a
/// queue and on each other.
pub(crate) struct Program {
    /// True if each operation begins at a time of its own. Then everything that
    /// happens at one time follows from one operation, and its order among tasks is
    /// not compared: a cancelled task ends at once here, and a few callbacks later in
    /// asyncio. Otherwise the order of all events is compared; there are no
    /// cancellations of tasks, and no timeouts.
    pub(crate) paced: bool,
    pub(crate) at_first: usize,
    /// Each operation with its pause in nanoseconds.
    pub(crate) tasks: Vec<Vec<(u64, Op)>>,
}

/// An operation. A future is given by its number, a time in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Sleep(u64),
    Await(usize),
    Shield(usize),
    CancelShield(usize),
    WaitFor(usize, u64),
    Gather(Vec<usize>),
    GatherOutcomes(Vec<usize>),
    /// A gather that is not awaited.
    ForgetGather(Vec<usize>),
    Wait(Vec<usize>, When, Option<u64>),
    AsCompleted(Vec<usize>, Option<u64>),
    SetResult(usize),
    SetException(usize),
    Cancel(usize),
    /// Ends futures in one step: each with a result, an exception or a cancellation.
    EndAll(Vec<Op>),
    SetLater(usize, u64),
    /// Adds a callback to the first future that resolves the second; in a paced
    /// program after this time, so that two callbacks do not compete.
    AddCallback(usize, usize, u64),
    RemoveCallback,
    Spawn,
    Put,
    Get,
    Join,
    Probe(usize),
    Raise,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    FirstCompleted,
    FirstException,
    AllCompleted,
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

    /// Returns a time that no other has. Sums of such times are all different, too.
    fn time(&mut self) -> u64 {
        1 + (self.next() >> 24)
    }

    /// Returns the number of a future, or of an earlier task: a circle of tasks is an
    /// error here, and endless in asyncio.
    fn earlier(&mut self, me: usize) -> usize {
        self.below(me)
    }

    fn several(&mut self, me: usize) -> Vec<usize> {
        (0..self.below(4)).map(|_| self.earlier(me)).collect()
    }

    /// Returns numbers in their order, each once: asyncio takes these as a set.
    fn set(&mut self, me: usize) -> Vec<usize> {
        let mut set = self.several(me);
        set.sort_unstable();
        set.dedup();
        set
    }

    /// Returns operations that end all futures, in any order.
    fn ends(&mut self) -> Vec<Op> {
        let first = self.below(FUTURES);
        let step = 1 + self.below(FUTURES - 1);
        let all = (0..FUTURES).map(|number| (first + number * step) % FUTURES);
        let ends = [Op::SetResult, Op::SetException, Op::SetException, Op::Cancel];
        all.map(|future| ends[self.below(ends.len())](future)).collect()
    }

    fn timeout(&mut self, paced: bool) -> Option<u64> {
        (paced && self.below(2) == 0).then(|| self.time())
    }
}

impl Program {
    /// Returns the program of this seed: the same one every time.
    pub(crate) fn new(seed: u64) -> Self {
        let random = &mut Random(seed);
        let paced = random.below(2) == 0;
        let count = 1 + random.below(MAX_TASKS);
        let at_first = 1 + random.below(count);
        let mut task = |me| {
            let length = random.below(14);
            let mut ops: Vec<(u64, Op)> =
                (0..length).map(|_| (random.time(), op(random, me, count, paced))).collect();
            // So that a task ends at a time of its own, too.
            ops.push((random.time(), Op::Probe(me)));
            ops
        };
        let tasks = (FUTURES..FUTURES + count).map(&mut task).collect();
        Self { paced, at_first, tasks }
    }

    /// Returns the program as a line of JSON, for the interpreter in Python.
    pub(crate) fn to_json(&self) -> String {
        let mut json =
            format!(r#"{{"paced":{},"at_first":{},"tasks":["#, self.paced, self.at_first);
        for (number, task) in self.tasks.iter().enumerate() {
            let ops: Vec<String> =
                task.iter().map(|(pause, op)| format!("[{pause},{}]", op.to_json())).collect();
            let comma = if number > 0 { "," } else { "" };
            write!(json, "{comma}[{}]", ops.join(",")).unwrap();
        }
        json + "]}"
    }
}

fn op(random: &mut Random, me: usize, tasks: usize, paced: bool) -> Op {
    let future = random.below(FUTURES);
    let any = random.below(FUTURES + tasks);
    loop {
        return match random.below(36) {
            0..3 => Op::Sleep(0),
            3 => Op::Sleep(random.time()),
            4..7 => Op::Await(random.earlier(me)),
            7..9 => Op::Shield(random.earlier(me)),
            9 => Op::CancelShield(random.earlier(me)),
            10..12 if paced => Op::WaitFor(random.earlier(me), random.time()),
            12..14 => Op::Gather(random.several(me)),
            14 => Op::GatherOutcomes(random.several(me)),
            15 => Op::ForgetGather(random.several(me)),
            16..18 => {
                let all = [When::FirstCompleted, When::FirstException, When::AllCompleted];
                Op::Wait(random.set(me), all[random.below(3)], random.timeout(paced))
            }
            18 => Op::AsCompleted(random.set(me), random.timeout(paced)),
            19..21 => Op::SetResult(future),
            // Sometimes of a task, which refuses it.
            21 => Op::SetResult(any),
            22 => Op::SetException(future),
            23 => Op::Cancel(if paced { any } else { future }),
            24 => Op::SetLater(future, random.time()),
            25..27 => Op::AddCallback(any, future, random.time()),
            27 => Op::RemoveCallback,
            28 => Op::Spawn,
            29..31 => Op::Probe(any),
            31 => Op::Raise,
            32 if paced => Op::Put,
            33 if paced && random.below(4) == 0 => Op::Join,
            33 if paced => Op::Get,
            34..36 => Op::EndAll(random.ends()),
            _ => continue,
        };
    }
}

impl Op {
    fn to_json(&self) -> String {
        let or_null = |time: &Option<u64>| time.map_or("null".to_owned(), |ns| ns.to_string());
        match self {
            Self::Sleep(ns) => format!(r#""sleep",{ns}"#),
            Self::Await(of) => format!(r#""await_",{of}"#),
            Self::Shield(of) => format!(r#""shield",{of}"#),
            Self::CancelShield(of) => format!(r#""cancel_shield",{of}"#),
            Self::WaitFor(of, ns) => format!(r#""wait_for",{of},{ns}"#),
            Self::Gather(of) => format!(r#""gather",{of:?}"#),
            Self::GatherOutcomes(of) => format!(r#""gather_outcomes",{of:?}"#),
            Self::ForgetGather(of) => format!(r#""forget_gather",{of:?}"#),
            Self::Wait(of, when, ns) => {
                let when = match when {
                    When::FirstCompleted => "FIRST_COMPLETED",
                    When::FirstException => "FIRST_EXCEPTION",
                    When::AllCompleted => "ALL_COMPLETED",
                };
                format!(r#""wait",{of:?},"{when}",{}"#, or_null(ns))
            }
            Self::AsCompleted(of, ns) => format!(r#""as_completed",{of:?},{}"#, or_null(ns)),
            Self::SetResult(of) => format!(r#""set_result",{of}"#),
            Self::SetException(of) => format!(r#""set_exception",{of}"#),
            Self::Cancel(of) => format!(r#""cancel",{of}"#),
            Self::EndAll(ops) => {
                let ops: Vec<String> = ops.iter().map(|op| format!("[{}]", op.to_json())).collect();
                format!(r#""end_all",[{}]"#, ops.join(","))
            }
            Self::SetLater(of, ns) => format!(r#""set_later",{of},{ns}"#),
            Self::AddCallback(of, then, ns) => format!(r#""add_callback",{of},{then},{ns}"#),
            Self::RemoveCallback => r#""remove_callback""#.into(),
            Self::Spawn => r#""spawn""#.into(),
            Self::Put => r#""put""#.into(),
            Self::Get => r#""get""#.into(),
            Self::Join => r#""join""#.into(),
            Self::Probe(of) => format!(r#""probe",{of}"#),
            Self::Raise => r#""raise_""#.into(),
        }
    }
}
