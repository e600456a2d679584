//! Resolvers: lookups on other threads, one per name, with waiters by id.
#![allow(clippy::unwrap_used, missing_docs)]

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use transport::{BlockingResolver, Lookup, Resolver};

const WATCHDOG: Duration = Duration::from_secs(5);

/// Returns a resolver of the names in this file, the number of its lookups, and
/// a channel that receives its notifications.
fn resolver() -> (Resolver<&'static str>, Arc<AtomicUsize>, Receiver<()>) {
    let num_lookups = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&num_lookups);
    let (notify_sender, notified) = channel();
    let notify_sender = Mutex::new(notify_sender);
    let lookup = move |host: &str, port| {
        count.fetch_add(1, Ordering::SeqCst);
        lookup_in_test(host, port)
    };
    let notify = move || notify_sender.lock().unwrap().send(()).unwrap();
    (Resolver::new(Arc::new(lookup), notify), num_lookups, notified)
}

fn lookup_in_test(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    match host {
        "two.test" => Ok(vec![([127, 0, 0, 1], port).into(), ([127, 0, 0, 2], port).into()]),
        "empty.test" => Ok(Vec::new()),
        "many.test" => Ok((0..100).map(|n| ([127, 0, 0, n], port).into()).collect()),
        "bug.test" => panic!("a bug in the look-up"),
        _ => Err(io::Error::other("no such host")),
    }
}

#[test]
fn an_answer_comes_after_a_notification_and_is_cached() {
    let (mut resolver, num_lookups, notified) = resolver();
    let now = Instant::now();
    for waiter in ["first", "second"] {
        let lookup = resolver.lookup("two.test", 80, now, waiter);
        assert!(matches!(lookup, Lookup::Pending(_)));
    }
    notified.recv_timeout(WATCHDOG).unwrap();
    let answered = resolver.answered(now);
    let names: Vec<_> = answered.iter().map(|(waiter, _)| *waiter).collect();
    assert_eq!(names, ["first", "second"]);
    assert_eq!(answered[0].1.as_ref().unwrap().len(), 2);
    assert_eq!(num_lookups.load(Ordering::SeqCst), 1, "one question for both");

    let later = now + Duration::from_secs(59);
    assert!(matches!(resolver.lookup("two.test", 80, later, "third"), Lookup::Cached(..)));
    let expired = now + Duration::from_secs(61);
    assert!(matches!(resolver.lookup("two.test", 80, expired, "fourth"), Lookup::Pending(_)));
}

#[test]
fn ip_addresses_need_no_lookup() {
    let (mut resolver, num_lookups, _bell) = resolver();
    for (host, address) in
        [("127.0.0.1", "127.0.0.1:81"), ("[::1]", "[::1]:81"), ("::1", "[::1]:81")]
    {
        match resolver.lookup(host, 81, Instant::now(), "waiter") {
            Lookup::Cached(addresses, "waiter") => {
                assert_eq!(addresses[..], [address.parse().unwrap()]);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(num_lookups.load(Ordering::SeqCst), 0);
}

#[test]
fn a_cancelled_waiter_is_not_answered() {
    let (mut resolver, _, notified) = resolver();
    let now = Instant::now();
    let Lookup::Pending(lookup_id) = resolver.lookup("two.test", 80, now, "impatient") else {
        panic!("known already");
    };
    resolver.lookup("two.test", 80, now, "patient");
    assert_eq!(resolver.cancel(lookup_id), Some("impatient"));
    assert_eq!(resolver.cancel(lookup_id), None);
    notified.recv_timeout(WATCHDOG).unwrap();
    let answered = resolver.answered(now);
    assert_eq!(answered.len(), 1);
    assert_eq!(answered[0].0, "patient");
    assert_eq!(resolver.waiting(), 0);
}

#[test]
fn every_lookup_is_answered_even_if_it_fails_or_panics() {
    let (mut resolver, _, notified) = resolver();
    let now = Instant::now();
    // More lookups than threads.
    let hosts: Vec<String> = (0..20).map(|n| format!("unknown-{n}.test")).collect();
    for host in hosts.iter().map(String::as_str).chain(["empty.test", "bug.test"]) {
        resolver.lookup(host, 80, now, "waiter");
    }
    let mut answered = Vec::new();
    while answered.len() < 22 {
        notified.recv_timeout(WATCHDOG).unwrap();
        answered.extend(resolver.answered(now));
    }
    assert!(answered.iter().all(|(_, answer)| answer.is_err()));
    let message = answered[0].1.as_ref().unwrap_err().to_string();
    assert!(message.starts_with("no address for unknown-"), "{message}");
}

#[test]
fn the_number_of_addresses_is_bounded() {
    let (mut resolver, _, notified) = resolver();
    resolver.lookup("many.test", 80, Instant::now(), "waiter");
    notified.recv_timeout(WATCHDOG).unwrap();
    let answered = resolver.answered(Instant::now());
    assert_eq!(answered[0].1.as_ref().unwrap().len(), 16);
}

#[test]
fn a_blocking_lookup_ends_at_its_deadline() {
    let (resolver, num_lookups, release) = blocking_resolver();
    assert_eq!(resolver.lookup("slow.test", 80, Duration::from_millis(20)), Ok(None));
    assert_eq!(resolver.lookup("slow.test", 80, Duration::from_millis(20)), Ok(None));
    assert_eq!(num_lookups.load(Ordering::SeqCst), 1, "the first question is still under way");
    // Other lookups do not wait for it.
    assert_eq!(resolver.lookup("two.test", 80, WATCHDOG).unwrap().unwrap().len(), 2);
    assert_eq!(resolver.lookup("127.0.0.9", 80, WATCHDOG).unwrap().unwrap().len(), 1);
    for (host, reason) in [
        ("bug.test", "the look-up itself failed"),
        ("empty.test", "the answer is empty"),
        ("unknown.test", "no such host"),
    ] {
        let error = resolver.lookup(host, 80, WATCHDOG).unwrap_err();
        assert_eq!(error.to_string(), format!("no address for {host}: {reason}"));
    }
    // The answer of the lookup that timed out is there for a later call.
    drop(release);
    assert_eq!(resolver.lookup("slow.test", 80, WATCHDOG).unwrap().unwrap().len(), 1);
    assert_eq!(resolver.lookup("slow.test", 80, Duration::ZERO).unwrap().unwrap().len(), 1);
    assert_eq!(num_lookups.load(Ordering::SeqCst), 5);
}

#[test]
fn threads_that_want_the_same_name_share_one_lookup() {
    const THREADS: usize = 20;
    let (resolver, num_lookups, release) = blocking_resolver();
    let answers: Vec<_> = thread::scope(|scope| {
        let ask = || resolver.lookup("slow.test", 80, WATCHDOG).unwrap().unwrap();
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
        // No thread can be done yet, and most have begun to wait by now.
        thread::sleep(Duration::from_millis(50));
        assert!(threads.iter().all(|thread| !thread.is_finished()));
        drop(release);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| answer[..] == answers[0][..]));
    assert_eq!(num_lookups.load(Ordering::SeqCst), 1);
}

/// Returns a blocking resolver, as [`resolver`] does. Its lookup of "slow.test"
/// returns when the sender that is returned last is dropped.
fn blocking_resolver() -> (BlockingResolver, Arc<AtomicUsize>, Sender<()>) {
    let num_lookups = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&num_lookups);
    let (release, held) = channel::<()>();
    let held = Mutex::new(held);
    let resolver = BlockingResolver::new(Arc::new(move |host: &str, port| {
        count.fetch_add(1, Ordering::SeqCst);
        if host != "slow.test" {
            return lookup_in_test(host, port);
        }
        let _ = held.lock().unwrap().recv();
        Ok(vec![([127, 0, 0, 3], port).into()])
    }));
    (resolver, num_lookups, release)
}
