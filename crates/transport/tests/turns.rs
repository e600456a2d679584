//! Addresses one after the other, and connections so many at a time.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

use proptest::prelude::*;
use transport::{Candidates, ConnectQueue, Entry, LetIn, Number};

fn address(n: usize) -> SocketAddr {
    ([127, 0, 0, 1], 8000 + n as u16).into()
}

#[test]
fn addresses_in_their_order() {
    let mut candidates = Candidates::new([address(0), address(1)].into());
    assert_eq!((candidates.current(), candidates.left()), (Some(address(0)), 2));
    candidates.failed(&io::Error::other("no"));
    assert_eq!((candidates.current(), candidates.left()), (Some(address(1)), 1));
    candidates.failed(&io::Error::other("never"));
    for _ in 0..2 {
        assert_eq!((candidates.current(), candidates.left()), (None, 0));
        assert_eq!(candidates.failure(), "cannot connect to 127.0.0.1:8001: never");
        candidates.failed(&io::Error::other("there is none"));
    }
    assert_eq!(Candidates::default().failure(), "the host has no address");
}

#[derive(Clone, Debug)]
enum Step {
    /// So many want to connect to this address.
    Enter(usize, usize),
    /// So many have an answer.
    Leave(usize, usize),
    /// So many have waited as long as they were told to.
    LetIn(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let address_and_count = || (0..3usize, 0..200usize);
    prop_oneof![
        address_and_count().prop_map(|(n, count)| Step::Enter(n, count)),
        address_and_count().prop_map(|(n, count)| Step::Leave(n, count)),
        address_and_count().prop_map(|(n, count)| Step::LetIn(n, count)),
    ]
}

const PLACES: usize = ConnectQueue::<u32>::PLACES;

/// His name, his number, and whether somebody has left since he was asked last.
type Waiting = (u32, Number, bool);

proptest! {
    /// Nobody is let in before his time when there is no place, nor as long as
    /// others leave, nobody is held back when there is one, and all are called
    /// in the order in which they came.
    #[test]
    fn so_many_at_a_time(steps in proptest::collection::vec(step(), 0..40)) {
        let mut queue = ConnectQueue::new();
        let mut model: [(usize, VecDeque<Waiting>); 3] = Default::default();
        let patience = |crowds| ConnectQueue::<u32>::PATIENCE * crowds;
        let mut names = 0..;
        for step in steps {
            match step {
                Step::Enter(n, count) => for name in names.by_ref().take(count) {
                    let (knocking, waiting) = &mut model[n];
                    let line = queue.line(address(n));
                    match queue.enter(line, name) {
                        Entry::Now(same) => {
                            prop_assert_eq!(same, name);
                            prop_assert!(*knocking < PLACES);
                            *knocking += 1;
                        }
                        Entry::Later(number, until) => {
                            prop_assert!(*knocking >= PLACES);
                            let crowds = 1 + (waiting.len() / PLACES) as u32;
                            prop_assert_eq!(until, patience(crowds));
                            waiting.push_back((name, number, false));
                            prop_assert_eq!(queue.waiter_mut(number), Some(&mut name.clone()));
                        }
                    }
                },
                Step::Leave(n, count) => for _ in 0..count.min(model[n].0) {
                    let (knocking, waiting) = &mut model[n];
                    *knocking -= 1;
                    waiting.iter_mut().for_each(|(.., line_moves)| *line_moves = true);
                    let next = if *knocking < PLACES { waiting.pop_front() } else { None };
                    *knocking += usize::from(next.is_some());
                    let line = queue.line(address(n));
                    prop_assert_eq!(queue.leave(line), next.map(|(name, ..)| name));
                    if let Some((_, number, _)) = next {
                        prop_assert_eq!(queue.let_in(number), LetIn::Gone);
                    }
                },
                Step::LetIn(n, count) => for _ in 0..count {
                    let (knocking, waiting) = &mut model[n];
                    if let Some((name, number, line_moves)) = waiting.pop_front() {
                        if line_moves {
                            let waits_on = matches!(queue.let_in(number), LetIn::Later(_));
                            prop_assert!(waits_on);
                        }
                        *knocking += 1;
                        prop_assert_eq!(queue.let_in(number), LetIn::Now(name));
                        prop_assert_eq!(queue.let_in(number), LetIn::Gone);
                    }
                },
            }
        }
        // Nothing is kept of an address at which nobody knocks.
        for (n, (knocking, waiting)) in model.iter().enumerate() {
            for _ in 0..knocking + waiting.len() {
                let line = queue.line(address(n));
                queue.leave(line);
            }
        }
        prop_assert_eq!(format!("{queue:?}"), "ConnectQueue { addresses: 0, .. }");
    }
}
