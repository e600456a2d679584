//! The programs, and how they are drawn. The debug output of a program is valid Python.

/// A pause in nanoseconds, and what happens then.
#[derive(Clone, Debug)]
pub(crate) struct Step(pub(crate) u64, pub(crate) Op);

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Say,
    Raise,
    /// Creates so many tasks, which do the same, in the innermost group.
    Children(usize, Vec<Step>),
    /// Cancels the task that this task has created last.
    Cancel,
    /// A group: true if its error is caught.
    Group(bool, Vec<Step>),
    /// A block with a deadline, after so many nanoseconds if at all: true if its error is
    /// caught.
    Timeout(Option<u64>, bool, Vec<Step>),
    /// Moves the deadline of the innermost block.
    Reschedule(Option<u64>),
    /// Creates a task in the group that this task has entered last.
    Late,
}

/// Sebastiano Vigna's generator splitmix64.
pub(crate) fn mixed(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Draws a program by these choices. Without any left, everything is the first of its kind.
pub(crate) fn program(choices: &[u8]) -> Vec<Step> {
    Draw { choices: choices.iter(), times: 0 }.steps(0)
}

struct Draw<'c> {
    choices: std::slice::Iter<'c, u8>,
    times: u64,
}

impl Draw<'_> {
    fn below(&mut self, limit: u8) -> u8 {
        self.choices.next().map_or(0, |choice| choice % limit)
    }

    /// Returns a time that no other has. Sums of such times are all different, too.
    fn time(&mut self) -> u64 {
        1 + (mixed(&mut self.times) >> 24)
    }

    fn some_time(&mut self) -> Option<u64> {
        let time = 2 * self.time();
        if self.below(4) == 0 { None } else { Some(time) }
    }

    fn steps(&mut self, depth: u8) -> Vec<Step> {
        // Something happens in each program, and in each scope often more.
        let length = if depth == 0 { 1 + self.below(3) } else { self.below(6) };
        (0..length).map(|_| Step(self.time(), self.op(depth))).collect()
    }

    fn op(&mut self, depth: u8) -> Op {
        // The main task begins with scopes.
        match if depth == 0 { 12 + self.below(4) } else { self.below(16) } {
            4 => Op::Raise,
            5 => Op::Cancel,
            6 | 7 => Op::Reschedule(self.some_time()),
            8 => Op::Late,
            9..12 if depth < 4 => {
                Op::Children(1 + usize::from(self.below(2)), self.steps(depth + 1))
            }
            12 | 13 if depth < 4 => Op::Group(self.below(2) == 0, self.steps(depth + 1)),
            14 | 15 if depth < 4 => {
                Op::Timeout(self.some_time(), self.below(2) == 0, self.steps(depth + 1))
            }
            _ => Op::Say,
        }
    }
}
