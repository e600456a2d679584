//! Schedule exploration: the tasks of a batch take their steps in a seeded random order.
//!
//! A loop has one order of steps, and a program may be right in that order only. An
//! event or a timer does nothing but put a task into the run queue. So one shuffle of
//! each batch explores the orders of tasks, events and timers of the same moment.

use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;

use selector_core::Key;

use crate::runtime::observer::Observer;

thread_local! {
    /// The state of the generator of random numbers; zero for none.
    static RANDOM: Cell<u64> = const { Cell::new(0) };
}

/// A guard: while it lives, the loops of this thread run in random order.
#[derive(Debug)]
#[must_use = "the exploration ends when it is dropped"]
pub struct Exploration(());

/// Has the loops of this thread run each batch of ready tasks in an order that follows
/// from `seed`.
pub fn explore(seed: u64) -> Exploration {
    // Never zero, which stands for no seed.
    RANDOM.set(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    Exploration(())
}

impl Drop for Exploration {
    fn drop(&mut self) {
        RANDOM.set(0);
    }
}

/// The observer that shuffles each batch, if this thread explores.
pub(crate) struct Explore;

impl Observer for Explore {
    // ANCHOR: shuffle
    fn order(&self, batch: &mut VecDeque<Key>) {
        let mut state = RANDOM.get();
        if state == 0 {
            return;
        }
        // Fisher and Yates, with the generator xorshift64*.
        for last in (1..batch.len()).rev() {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            let random = state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
            batch.swap(last, random as usize % (last + 1));
        }
        RANDOM.set(state);
    }
    // ANCHOR_END: shuffle

    fn visit<'o>(&'o self, visit: &mut dyn FnMut(&'o dyn Any)) {
        visit(self);
    }
}
