//! Orders: small programs on the queue, on futures and on connections, of which each must
//! go well in whatever order its tasks take their steps.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use asyncio::prelude::*;
use sim_net::{Link, SimNet, text};
use stage2_coroutines::{
    EventLoop, Future, Inspect, Task, connect, explore, read, runtime_on, sleep, timeout_at,
    write_all, yield_now,
};
use stage3_queue::JoinableQueue;
use transport::TlsLayer;

use crate::random::Random;

/// The number of seeds within which each planted bug of order has to be found.
pub const SEEDS: u64 = 10_000;

/// The length of a body that takes more than one read, in bytes.
const LENGTH: usize = 100_000;

/// The limit on the time that a program takes. None sleeps so long.
const LIMIT: Duration = Duration::from_secs(3600);

/// Runs the programs of a seed. Returns the number of steps of their tasks.
///
/// # Errors
/// When something does not hold: the sentence that says what.
pub fn run_orders(seed: u64) -> Result<u64, String> {
    Ok(queue(seed, false)? + futures(seed)? + connections(seed)?)
}

/// Runs the program of the queue with a bug in it: each worker hands its work back before
/// it puts new work in.
///
/// # Errors
/// As [`run_orders`]; the bug is found then.
pub fn run_with_early_task_done(seed: u64) -> Result<u64, String> {
    queue(seed, true)
}

/// Runs a program on a loop, in the order of a seed, and looks whether anything is left.
fn run<T>(
    seed: u64,
    net: &SimNet,
    program: impl AsyncFnOnce(EventLoop) -> T,
) -> Result<(T, u64), String> {
    let runtime = runtime_on(net.clone(), net.lookup());
    let event_loop = runtime.event_loop().clone();
    net.seed(seed);
    let exploration = explore(seed);
    let limited = async {
        let deadline = event_loop.now() + LIMIT;
        timeout_at(&event_loop, || deadline, std::pin::pin!(program(event_loop.clone()))).await
    };
    let result = runtime.run_until_complete(limited);
    drop(exploration);
    let steps = event_loop.stats().polls;
    drop(runtime);
    let result = result.map_err(|error| error.to_string())?;
    let result = result.map_err(|_elapsed| format!("no end after {LIMIT:?}"))?;
    match (event_loop.connections(), net.connections()) {
        (0, 0) => Ok((result, steps)),
        left => Err(format!("connections are left: {left:?}")),
    }
}

/// The pages of the program of the queue, and what became of them.
#[derive(Default)]
struct Pages {
    random: RefCell<Option<Random>>,
    /// The number of pages that were put in.
    put: Cell<u32>,
    /// The pages that a worker has finished, or had to leave because it was cancelled.
    ended: RefCell<Vec<u32>>,
    hands_back_early: bool,
}

impl Pages {
    fn below(&self, limit: u64) -> u64 {
        self.random.borrow_mut().as_mut().map_or(0, |random| random.below(limit))
    }

    fn next(&self) -> u32 {
        self.put.update(|n| n + 1);
        self.put.get()
    }
}

/// The end of the work on a page, whatever it is.
struct Ended<'a>(&'a Pages, u32);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.ended.borrow_mut().push(self.1);
    }
}

async fn pause(event_loop: &EventLoop, random: u64) {
    match random {
        0 => {}
        1 | 2 => yield_now(event_loop).await,
        // Many timers of the same moment.
        _ => sleep(event_loop, Duration::from_millis(random % 2)).await,
    }
}

async fn work(event_loop: EventLoop, q: JoinableQueue<u32>, pages: Rc<Pages>) {
    loop {
        let item = q.get().await;
        let ended = Ended(&pages, *item);
        pause(&event_loop, pages.below(6)).await;
        let item = if pages.hands_back_early {
            drop((ended, item));
            yield_now(&event_loop).await;
            None
        } else {
            Some((ended, item))
        };
        for _ in 0..pages.below(3) {
            if pages.put.get() >= 40 {
                break;
            }
            match pages.below(3) {
                0 => {
                    // As a job that waits for its host.
                    let (reservation, page) = (q.reserve(), pages.next());
                    let after = Duration::from_millis(pages.below(3));
                    event_loop.call_later(after, move || reservation.put(page));
                }
                _ => q.put_nowait(pages.next()),
            }
        }
        drop(item);
    }
}

/// Workers around a queue, of which some are cancelled and replaced. Each page ends once,
/// and none is left when the join returns.
fn queue(seed: u64, hands_back_early: bool) -> Result<u64, String> {
    let mut random = Random::new(seed);
    let (num_workers, num_pages, num_cancelled) =
        (1 + random.below(4), 1 + random.below(4), random.below(5));
    let pages = Pages { hands_back_early, ..Pages::default() };
    *pages.random.borrow_mut() = Some(random);
    let pages = Rc::new(pages);
    let net = SimNet::new(|_| text(""));
    let (left, steps) = run(seed, &net, async |event_loop: EventLoop| {
        let q = JoinableQueue::new(&event_loop);
        let spawn =
            || Task::spawn(&event_loop, work(event_loop.clone(), q.clone(), Rc::clone(&pages)));
        let mut workers: Vec<_> = (0..num_workers).map(|_| spawn()).collect();
        for _ in 0..num_pages {
            q.put_nowait(pages.next());
        }
        for _ in 0..num_cancelled {
            pause(&event_loop, pages.below(6)).await;
            let index = pages.below(num_workers) as usize;
            let cancelled = std::mem::replace(&mut workers[index], spawn());
            cancelled.cancel();
            pause(&event_loop, pages.below(4)).await;
            // The key is stale, and no other task has it.
            if event_loop.scheduler().wakers(cancelled.key()).is_some() || cancelled.cancel() {
                return (usize::MAX, 0, 0);
            }
        }
        q.join().await;
        let left = (q.len(), q.unfinished(), pages.put.get());
        for worker in &workers {
            worker.cancel();
        }
        left
    })?;
    if left.0 == usize::MAX {
        return Err("a key of a task that is gone has cancelled another".into());
    }
    let mut ended = pages.ended.borrow().clone();
    ended.sort_unstable();
    if left.0 + left.1 > 0 || !ended.iter().copied().eq(1..=left.2) {
        return Err(format!("join has returned; len, unfinished, put: {left:?}; ended: {ended:?}"));
    }
    Ok(steps)
}

/// Tasks that wait for a future that others wait for, too, and of which some are cancelled
/// or tired of it at the moment at which the result comes.
fn futures(seed: u64) -> Result<u64, String> {
    let mut random = Random::new(seed);
    let num_waiters = 1 + random.below(5);
    let is_cancelled: Vec<bool> = (0..num_waiters).map(|_| random.percent(30)).collect();
    let times: Vec<_> =
        (0..num_waiters + 2).map(|_| Duration::from_millis(random.below(3))).collect();
    let net = SimNet::new(|_| text(""));
    let (results, steps) = run(seed, &net, async |event_loop: EventLoop| {
        let result = Future::<u32>::new(&event_loop).shared();
        let waiters: Vec<_> = (0..num_waiters as usize)
            .map(|n| {
                let (inside, result, limit) = (event_loop.clone(), result.clone(), times[n]);
                Task::spawn(&event_loop, async move {
                    let deadline = inside.now() + limit;
                    let first = timeout_at(&inside, || deadline, result.clone()).await;
                    // Those that are tired wait once more.
                    let value = match first {
                        Ok(value) => value,
                        Err(_elapsed) => result.await,
                    };
                    value.is_ok_and(|value| value == 7)
                })
            })
            .collect();
        let [at, cancel_at] = [times[num_waiters as usize], times[num_waiters as usize + 1]];
        let setter = result.clone();
        event_loop.call_later(at, move || assert!(setter.as_future().set_result(7).is_ok()));
        sleep(&event_loop, cancel_at).await;
        for (waiter, _) in waiters.iter().zip(&is_cancelled).filter(|(_, cancelled)| **cancelled) {
            waiter.cancel();
        }
        let mut results = Vec::new();
        for waiter in waiters {
            results.push(waiter.await);
        }
        results
    })?;
    for (result, is_cancelled) in results.iter().zip(is_cancelled) {
        let is_well = match result {
            Ok(is_seven) => *is_seven,
            Err(_) => is_cancelled,
        };
        if !is_well {
            return Err(format!("a waiter has got {result:?}"));
        }
    }
    Ok(steps)
}

/// Clients whose limit on time passes when the response comes, or which are cancelled then,
/// and open another connection at once.
fn connections(seed: u64) -> Result<u64, String> {
    let mut random = Random::new(seed);
    let net = SimNet::new(|_| text(vec![b'x'; LENGTH]).after(Duration::from_millis(2)));
    let host = IpAddr::from([10, 0, 0, 1]);
    let latency = Duration::from_millis(1);
    let packet = random.pick(&[None, Some(20_000)]);
    net.link(host, Link { latency, packet, ..Link::DEFAULT });
    let plans: Vec<Vec<Duration>> = (0..1 + random.below(4))
        // The response comes after six milliseconds.
        .map(|_| (0..3).map(|_| Duration::from_millis(3 + random.below(4))).collect())
        .collect();
    let cancelled_at = Duration::from_millis(random.below(12));
    let (results, steps) = run(seed, &net, async |event_loop: EventLoop| {
        let clients: Vec<_> = plans
            .into_iter()
            .map(|limits| {
                let inside = event_loop.clone();
                Task::spawn(&event_loop, async move {
                    let mut received = Vec::new();
                    for limit in limits {
                        let deadline = inside.now() + limit;
                        let exchange = std::pin::pin!(exchange(&inside, host));
                        received.push(timeout_at(&inside, || deadline, exchange).await.ok());
                    }
                    // The last one has all the time that it needs.
                    received.push(Some(exchange(&inside, host).await));
                    received
                })
            })
            .collect();
        sleep(&event_loop, cancelled_at).await;
        clients[0].cancel();
        let mut results = Vec::new();
        for client in clients {
            results.push(client.await);
        }
        results
    })?;
    for (n, result) in results.iter().enumerate() {
        let is_well = match result {
            Ok(received) => received
                .iter()
                .flatten()
                .all(|received| received.as_ref().is_ok_and(|length| *length >= LENGTH)),
            Err(_cancelled) => n == 0,
        };
        if !is_well {
            return Err(format!("client {n} has got {result:?}"));
        }
    }
    Ok(steps)
}

/// Sends a request, and returns the length of the response.
async fn exchange(event_loop: &EventLoop, host: IpAddr) -> io::Result<usize> {
    let address = SocketAddr::new(host, 80);
    let mut connection = connect(event_loop, address, TlsLayer::plain()).await?;
    write_all(&mut connection, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").await?;
    let mut length = 0;
    while length < LENGTH {
        match read(&mut connection, <[u8]>::len).await? {
            Some(read) => length += read,
            None => break,
        }
    }
    Ok(length)
}
