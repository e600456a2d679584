//! The connect limiter against a simple model.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use transport::{Acquire, AddressId, ConnectLimiter};

const MAX_PENDING: usize = ConnectLimiter::<u32>::MAX_PENDING;
const GRACE_PERIOD: Duration = ConnectLimiter::<u32>::GRACE_PERIOD;

fn address(n: usize) -> SocketAddr {
    ([127, 0, 0, 1], 8000 + n as u16).into()
}

#[derive(Clone, Debug)]
enum Step {
    /// So many waiters want a permit for this address.
    Acquire(usize, usize),
    /// So many permits are released.
    Release(usize, usize),
    /// The clock goes on by so many milliseconds.
    Wait(u64),
    /// A grace period of this address may be over.
    GrantBatch(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..3usize, 0..300usize).prop_map(|(n, count)| Step::Acquire(n, count)),
        (0..3usize, 0..200usize).prop_map(|(n, count)| Step::Release(n, count)),
        (0..8u64).prop_map(Step::Wait),
        (0..3usize).prop_map(Step::GrantBatch),
    ]
}

/// The expected state of one address.
#[derive(Default)]
struct Model {
    id: Option<AddressId>,
    pending: usize,
    waiters: VecDeque<u32>,
    grace_ends: Option<Instant>,
    was_released: bool,
    has_timer: bool,
}

proptest! {
    /// A waiter gets a permit at once if one is free, or with its batch when a
    /// grace period ends without a release; and waiters get theirs in the order
    /// in which they came.
    #[test]
    fn the_limiter_behaves_as_a_simple_model(steps in proptest::collection::vec(step(), 0..60)) {
        let mut limiter = ConnectLimiter::default();
        let mut models: [Model; 3] = Default::default();
        let (mut now, mut next) = (Instant::now(), 0..);
        for step in steps {
            match step {
                Step::Acquire(n, count) => for waiter in next.by_ref().take(count) {
                    let model = &mut models[n];
                    let (id, acquire) = limiter.acquire(address(n), now, |_| waiter);
                    model.id = Some(id);
                    if model.pending < MAX_PENDING {
                        prop_assert_eq!(acquire, Acquire::Granted);
                        model.pending += 1;
                        continue;
                    }
                    let needs_timer = !std::mem::replace(&mut model.has_timer, true);
                    prop_assert_eq!(acquire, Acquire::Queued { needs_timer });
                    if model.waiters.is_empty() {
                        model.grace_ends = Some(now + GRACE_PERIOD);
                        model.was_released = false;
                    }
                    model.waiters.push_back(waiter);
                },
                Step::Release(n, count) => for _ in 0..count.min(models[n].pending) {
                    let model = &mut models[n];
                    model.pending -= 1;
                    model.was_released = true;
                    let expected =
                        if model.pending < MAX_PENDING { model.waiters.pop_front() } else { None };
                    model.pending += usize::from(expected.is_some());
                    // Nothing is kept of an address without a pending connection.
                    model.has_timer &= model.pending > 0;
                    prop_assert_eq!(limiter.release(model.id.unwrap()), expected);
                },
                Step::Wait(milliseconds) => now += Duration::from_millis(milliseconds),
                Step::GrantBatch(n) => {
                    let model = &mut models[n];
                    let Some(id) = model.id.filter(|_| model.pending > 0) else { continue };
                    let granted = limiter.grant_batch(id, now);
                    prop_assert_eq!(granted.is_some(), !model.waiters.is_empty());
                    let Some(granted) = granted else {
                        model.has_timer = false;
                        continue;
                    };
                    let is_over = model.grace_ends.is_some_and(|ends| ends <= now);
                    let length = match is_over && !model.was_released {
                        true => model.waiters.len().min(MAX_PENDING),
                        false => 0,
                    };
                    if is_over {
                        model.grace_ends = Some(now + GRACE_PERIOD);
                        model.was_released = false;
                    }
                    let expected: Vec<u32> = model.waiters.drain(..length).collect();
                    prop_assert_eq!(granted, expected);
                    model.pending += length;
                }
            }
        }
        // Nothing is kept of an address without a pending connection.
        for model in models {
            for _ in 0..model.pending + model.waiters.len() {
                limiter.release(model.id.unwrap());
            }
        }
        prop_assert_eq!(format!("{limiter:?}"), "ConnectLimiter { addresses: 0, .. }");
    }
}

/// A batch is granted after each grace period in which the server is silent, so
/// a slow server does not hold up many connections.
#[test]
fn a_silent_server_gets_one_batch_per_grace_period() {
    let (mut limiter, begun) = (ConnectLimiter::default(), Instant::now());
    let mut id = None;
    for waiter in 0..3 * MAX_PENDING {
        id = Some(limiter.acquire(address(0), begun, |_| waiter).0);
    }
    let granted = |limiter: &mut ConnectLimiter<usize>, periods| {
        limiter.grant_batch(id.unwrap(), begun + GRACE_PERIOD * periods).map(|batch| batch.len())
    };
    assert_eq!(granted(&mut limiter, 0), Some(0));
    assert_eq!(granted(&mut limiter, 1), Some(MAX_PENDING));
    assert_eq!(granted(&mut limiter, 1), Some(0), "once for each period");
    assert_eq!(limiter.release(id.unwrap()), None);
    assert_eq!(granted(&mut limiter, 2), Some(0), "the server is answering");
    assert_eq!(granted(&mut limiter, 3), Some(MAX_PENDING));
    assert_eq!(granted(&mut limiter, 4), None);
}
