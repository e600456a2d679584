//! Candidates and the connect limiter.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

use proptest::prelude::*;
use transport::{Acquire, Candidates, ConnectLimiter, Retry, WaiterId};

fn address(n: usize) -> SocketAddr {
    ([127, 0, 0, 1], 8000 + n as u16).into()
}

#[test]
fn candidates_are_tried_in_their_order() {
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
    /// So many waiters want a permit for this address.
    Acquire(usize, usize),
    /// So many permits are released.
    Release(usize, usize),
    /// So many waiters have waited for the time they were told.
    Retry(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let address_and_count = || (0..3usize, 0..200usize);
    prop_oneof![
        address_and_count().prop_map(|(n, count)| Step::Acquire(n, count)),
        address_and_count().prop_map(|(n, count)| Step::Release(n, count)),
        address_and_count().prop_map(|(n, count)| Step::Retry(n, count)),
    ]
}

const MAX_PENDING: usize = ConnectLimiter::<u32>::MAX_PENDING;

/// A waiter, its id, and true if a permit was released since its last retry.
type Queued = (u32, WaiterId, bool);

proptest! {
    /// A waiter gets a permit at once if one is free, or when its grace period
    /// ends without a release; and waiters get theirs in the order in which
    /// they came.
    #[test]
    fn the_limiter_behaves_as_a_simple_model(steps in proptest::collection::vec(step(), 0..40)) {
        let mut limiter = ConnectLimiter::new();
        let mut model: [(usize, VecDeque<Queued>); 3] = Default::default();
        let expected_wait = |batches| ConnectLimiter::<u32>::GRACE_PERIOD * batches;
        let mut waiters = 0..;
        for step in steps {
            match step {
                Step::Acquire(n, count) => for waiter in waiters.by_ref().take(count) {
                    let (pending, queued) = &mut model[n];
                    let address_id = limiter.address_id(address(n));
                    match limiter.acquire(address_id, waiter) {
                        Acquire::Granted(granted) => {
                            prop_assert_eq!(granted, waiter);
                            prop_assert!(*pending < MAX_PENDING);
                            *pending += 1;
                        }
                        Acquire::Queued(waiter_id, wait) => {
                            prop_assert!(*pending >= MAX_PENDING);
                            let batches = 1 + (queued.len() / MAX_PENDING) as u32;
                            prop_assert_eq!(wait, expected_wait(batches));
                            queued.push_back((waiter, waiter_id, false));
                            prop_assert_eq!(limiter.waiter_mut(waiter_id), Some(&mut waiter.clone()));
                        }
                    }
                },
                Step::Release(n, count) => for _ in 0..count.min(model[n].0) {
                    let (pending, queued) = &mut model[n];
                    *pending -= 1;
                    queued.iter_mut().for_each(|(.., was_released)| *was_released = true);
                    let next = if *pending < MAX_PENDING { queued.pop_front() } else { None };
                    *pending += usize::from(next.is_some());
                    let address_id = limiter.address_id(address(n));
                    prop_assert_eq!(limiter.release(address_id), next.map(|(waiter, ..)| waiter));
                    if let Some((_, waiter_id, _)) = next {
                        prop_assert_eq!(limiter.retry(waiter_id), Retry::Gone);
                    }
                },
                Step::Retry(n, count) => for _ in 0..count {
                    let (pending, queued) = &mut model[n];
                    if let Some((waiter, waiter_id, was_released)) = queued.pop_front() {
                        if was_released {
                            let is_queued = matches!(limiter.retry(waiter_id), Retry::Queued(_));
                            prop_assert!(is_queued);
                        }
                        *pending += 1;
                        prop_assert_eq!(limiter.retry(waiter_id), Retry::Granted(waiter));
                        prop_assert_eq!(limiter.retry(waiter_id), Retry::Gone);
                    }
                },
            }
        }
        // Nothing is kept of an address without a pending connection.
        for (n, (pending, queued)) in model.iter().enumerate() {
            for _ in 0..pending + queued.len() {
                let address_id = limiter.address_id(address(n));
                limiter.release(address_id);
            }
        }
        prop_assert_eq!(format!("{limiter:?}"), "ConnectQueue { addresses: 0, .. }");
    }
}
