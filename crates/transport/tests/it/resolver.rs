//! Resolvers: lookups on other threads, one per name, with waiters by id.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use transport::{Lookup, LookupId, Resolver};

const WATCHDOG: Duration = Duration::from_secs(5);

/// Returns a resolver of the names in this file, the number of its lookups, and
/// a channel that receives its notifications.
fn resolver() -> (Resolver, Arc<AtomicUsize>, Receiver<()>) {
    let num_lookups = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&num_lookups);
    let (notify_sender, notified) = channel();
    let notify_sender = Mutex::new(notify_sender);
    let lookup = move |host: &str, port| {
        count.fetch_add(1, Ordering::SeqCst);
        lookup_in_test(host, port)
    };
    let notify = move || notify_sender.lock().unwrap().send(()).unwrap();
    (Resolver::new(Arc::new(lookup), false, notify), num_lookups, notified)
}

/// Starts a lookup that is not in the cache.
fn pending(resolver: &mut Resolver, host: &str, now: Instant) -> LookupId {
    match resolver.lookup(host, 80, now) {
        Lookup::Pending(lookup_id) => lookup_id,
        Lookup::Cached(addresses) => panic!("{host} is in the cache: {addresses:?}"),
    }
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
    let lookups = [(); 2].map(|()| pending(&mut resolver, "two.test", now));
    notified.recv_timeout(WATCHDOG).unwrap();
    let answered = resolver.answered(now);
    assert_eq!([answered[0].0, answered[1].0], lookups);
    assert_eq!(answered[0].1.as_ref().unwrap().len(), 2);
    assert_eq!(num_lookups.load(Ordering::SeqCst), 1, "one question for both");

    let later = now + Duration::from_secs(59);
    assert!(matches!(resolver.lookup("two.test", 80, later), Lookup::Cached(_)));
    let expired = now + Duration::from_secs(61);
    pending(&mut resolver, "two.test", expired);
}

#[test]
fn ip_addresses_need_no_lookup() {
    let (mut resolver, num_lookups, _bell) = resolver();
    for (host, address) in
        [("127.0.0.1", "127.0.0.1:81"), ("[::1]", "[::1]:81"), ("::1", "[::1]:81")]
    {
        let addresses = [address.parse().unwrap()].into();
        assert_eq!(resolver.lookup(host, 81, Instant::now()), Lookup::Cached(addresses));
    }
    assert_eq!(num_lookups.load(Ordering::SeqCst), 0);
}

#[test]
fn a_cancelled_lookup_is_not_answered() {
    let (mut resolver, num_lookups, notified) = resolver();
    let now = Instant::now();
    let cancelled = pending(&mut resolver, "two.test", now);
    let wanted = pending(&mut resolver, "two.test", now);
    resolver.cancel(cancelled);
    resolver.cancel(cancelled);
    notified.recv_timeout(WATCHDOG).unwrap();
    let answered = resolver.answered(now);
    assert_eq!(answered.len(), 1);
    assert_eq!(answered[0].0, wanted);
    assert!(format!("{resolver:?}").contains("pending: 0"), "{resolver:?}");
    assert_eq!(num_lookups.load(Ordering::SeqCst), 1);
}

#[test]
fn every_lookup_is_answered_even_if_it_fails_or_panics() {
    let (mut resolver, _, notified) = resolver();
    let now = Instant::now();
    // More lookups than threads.
    let hosts: Vec<String> = (0..20).map(|n| format!("unknown-{n}.test")).collect();
    for host in hosts.iter().map(String::as_str).chain(["empty.test", "bug.test"]) {
        resolver.lookup(host, 80, now);
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
    resolver.lookup("many.test", 80, Instant::now());
    notified.recv_timeout(WATCHDOG).unwrap();
    let answered = resolver.answered(Instant::now());
    assert_eq!(answered[0].1.as_ref().unwrap().len(), 16);
}
