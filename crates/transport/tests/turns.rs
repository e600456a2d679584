//! Addresses one after the other, and connections so many at a time.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

use proptest::prelude::*;
use transport::{Candidates, ConnectQueue};

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
    /// So many connections to it are made.
    Leave(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..3usize, 0..100usize).prop_map(|(n, count)| Step::Enter(n, count)),
        (0..3usize, 0..100usize).prop_map(|(n, count)| Step::Leave(n, count)),
    ]
}

proptest! {
    /// Never more than there are places, never fewer than there could be, and
    /// in the order in which they came.
    #[test]
    fn so_many_at_a_time(steps in proptest::collection::vec(step(), 0..40)) {
        let mut queue = ConnectQueue::new();
        let mut model: [(usize, VecDeque<u32>); 3] = Default::default();
        let mut names = 0..;
        for step in steps {
            match step {
                Step::Enter(n, count) => for name in names.by_ref().take(count) {
                    let (connecting, waiting) = &mut model[n];
                    let expected = if *connecting < ConnectQueue::<u32>::PLACES {
                        *connecting += 1;
                        Some(name)
                    } else {
                        waiting.push_back(name);
                        None
                    };
                    prop_assert_eq!(queue.enter(address(n), name), expected);
                },
                Step::Leave(n, count) => for _ in 0..count.min(model[n].0) {
                    let (connecting, waiting) = &mut model[n];
                    let next = waiting.pop_front();
                    *connecting -= usize::from(next.is_none());
                    prop_assert_eq!(queue.leave(address(n)), next);
                },
            }
        }
        // Nothing is kept of an address to which nobody connects.
        for (n, (connecting, waiting)) in model.iter().enumerate() {
            for _ in 0..connecting + waiting.len() {
                queue.leave(address(n));
            }
        }
        prop_assert_eq!(format!("{queue:?}"), "ConnectQueue { addresses: 0, .. }");
    }
}
