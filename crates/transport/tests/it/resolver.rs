//! Resolvers: lookups on other threads, one per name, with waiters by id.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use transport::{Immediate, Lookup, LookupId, Resolver};

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
    (Resolver::new(Arc::new(lookup), notify), num_lookups, notified)
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

/// So it needs no time, and no other thread.
#[test]
fn an_immediate_lookup_is_made_on_the_callers_thread() {
    let caller = std::thread::current().id();
    let lookup = Immediate(move |host: &str, port| {
        assert_eq!(std::thread::current().id(), caller);
        lookup_in_test(host, port)
    });
    let notified = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&notified);
    let notify = move || {
        count.fetch_add(1, Ordering::SeqCst);
    };
    let mut resolver = Resolver::new(Arc::new(lookup), notify);
    let now = Instant::now();
    let lookup_id = pending(&mut resolver, "two.test", now);
    assert_eq!(notified.load(Ordering::SeqCst), 1);
    let answered = resolver.answered(now);
    assert_eq!((answered[0].0, answered[0].1.as_ref().unwrap().len()), (lookup_id, 2));
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
    let unknown = (0..20).map(|n| format!("unknown-{n}.test"));
    let hosts: Vec<String> = unknown.chain(["empty.test".into(), "bug.test".into()]).collect();
    for host in &hosts {
        resolver.lookup(host, 80, now);
    }
    let mut answered = Vec::new();
    while answered.len() < hosts.len() {
        notified.recv_timeout(WATCHDOG).unwrap();
        answered.extend(resolver.answered(now));
    }
    // They come in the order in which the threads are done.
    let messages: Vec<String> =
        answered.into_iter().map(|(_, answer)| answer.unwrap_err().to_string()).collect();
    for host in hosts {
        let begin = format!("no address for {host}: ");
        assert!(messages.iter().any(|it| it.starts_with(&begin)), "{host}: {messages:?}");
    }
}

/// Waits until as many lookups have begun, and returns the names.
fn begun(begun: &Receiver<String>, number: usize) -> Vec<String> {
    (0..number).map(|_| begun.recv_timeout(WATCHDOG).unwrap()).collect()
}

/// Returns a resolver whose lookups take until the sender is dropped if the name
/// contains "slow", a channel that receives the name of each lookup that begins, and
/// one for the notifications.
fn slow_resolver() -> (Resolver, Receiver<String>, Receiver<()>, Sender<()>) {
    let (release, held) = channel::<()>();
    let (begin, begun) = channel();
    let (notify_sender, notified) = channel();
    let held = Mutex::new((held, false));
    let lookup = move |host: &str, port| {
        begin.send(host.to_owned()).unwrap();
        if host.contains("slow") {
            // The first one that gets the lock waits, and the others with it.
            let mut held = held.lock().unwrap();
            held.1 = held.1 || held.0.recv().is_err();
        }
        Ok(vec![([127, 0, 0, 1], port).into()])
    };
    let notify = move || {
        let _ = notify_sender.send(());
    };
    (Resolver::new(Arc::new(lookup), notify), begun, notified, release)
}

/// A zone whose servers do not answer takes at most half of the lookups, and a second
/// one half of the rest: names of other zones are answered at once.
#[test]
fn a_slow_zone_leaves_room_for_others() {
    let (mut resolver, begun_names, notified, release) = slow_resolver();
    let now = Instant::now();
    let names = |zone: &'static str| (0..300).map(move |n| format!("slow-{n}.{zone}"));
    let names = names("example.com").chain(names("example.co.uk"));
    let ids: Vec<_> = names.map(|name| pending(&mut resolver, &name, now)).collect();
    let names = begun(&begun_names, 64 + 32);
    let of_first = names.iter().filter(|name| name.ends_with(".example.com")).count();
    assert_eq!((of_first, names.len() - of_first), (64, 32));
    for n in 0..100 {
        let wanted = pending(&mut resolver, &format!("www.healthy-{n}.co.uk"), now);
        notified.recv_timeout(WATCHDOG).unwrap();
        let answered = resolver.answered(now);
        assert_eq!(answered.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [wanted]);
    }
    assert!(begun_names.try_iter().all(|name| name.starts_with("www.healthy-")));

    // The operating system goes on with a lookup that was cancelled, and it takes no
    // place any more. But the threads are limited.
    ids.iter().rev().for_each(|id| resolver.cancel(*id));
    assert!(begun_names.try_iter().next().is_none(), "those that wait are not wanted any more");
    for n in 0..200 {
        pending(&mut resolver, &format!("www.slow-{n}.test"), now);
    }
    assert_eq!(begun(&begun_names, 128).len(), 128);
    drop(release);
    let mut answered = 0;
    while answered < 200 {
        notified.recv_timeout(WATCHDOG).unwrap();
        answered += resolver.answered(now).len();
    }
    assert_eq!(begun(&begun_names, 72).len(), 72);
    assert!(format!("{resolver:?}").contains("pending: 0"), "{resolver:?}");
}

#[test]
fn the_number_of_threads_is_limited() {
    let (mut resolver, begun_names, notified, release) = slow_resolver();
    let now = Instant::now();
    for round in 0..3 {
        let start = |n| pending(&mut resolver, &format!("www.slow-{round}-{n}.test"), now);
        let ids: Vec<LookupId> = (0..128).map(start).collect();
        if round < 2 {
            begun(&begun_names, 128);
            ids.into_iter().for_each(|id| resolver.cancel(id));
        }
    }
    assert!(begun_names.recv_timeout(Duration::from_millis(50)).is_err(), "256 are the most");
    drop(release);
    let mut answered = 0;
    while answered < 128 {
        notified.recv_timeout(WATCHDOG).unwrap();
        answered += resolver.answered(now).len();
    }
}

/// It stays the last one when the answer is renewed, and the only address of a host is
/// tried all the same.
#[test]
fn an_address_that_has_failed_is_tried_last() {
    let (mut resolver, _, notified) = resolver();
    let mut now = Instant::now();
    let hosts = |resolver: &mut Resolver, now| {
        let addresses = match resolver.lookup("two.test", 80, now) {
            Lookup::Cached(addresses) => addresses,
            Lookup::Pending(_) => {
                notified.recv_timeout(WATCHDOG).unwrap();
                resolver.answered(now).pop().unwrap().1.unwrap()
            }
        };
        addresses.iter().map(|address| address.ip().to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(hosts(&mut resolver, now), "127.0.0.1 127.0.0.2");
    resolver.address_failed(([127, 0, 0, 1], 80).into());
    assert_eq!(hosts(&mut resolver, now), "127.0.0.2 127.0.0.1");
    now += Duration::from_secs(61);
    assert_eq!(hosts(&mut resolver, now), "127.0.0.2 127.0.0.1");
    resolver.address_failed(([127, 0, 0, 2], 80).into());
    assert_eq!(hosts(&mut resolver, now), "127.0.0.1 127.0.0.2");
    resolver.address_failed(([127, 0, 0, 1], 81).into());
    assert_eq!(hosts(&mut resolver, now), "127.0.0.1 127.0.0.2", "another port");
}

#[test]
fn the_number_of_addresses_is_bounded() {
    let (mut resolver, _, notified) = resolver();
    resolver.lookup("many.test", 80, Instant::now());
    notified.recv_timeout(WATCHDOG).unwrap();
    let answered = resolver.answered(Instant::now());
    assert_eq!(answered[0].1.as_ref().unwrap().len(), 16);
}

/// No name server is asked: it might give another address (RFC 6761, section 6.3).
#[test]
fn names_below_localhost_are_loopback() {
    for host in ["app.localhost", "a.b.LOCALHOST", "app.localhost."] {
        let addresses = transport::system_lookup(host, 8080).unwrap();
        assert!(addresses.contains(&([127, 0, 0, 1], 8080).into()), "{host}: {addresses:?}");
        assert!(
            addresses.iter().all(|address| address.ip().is_loopback() && address.port() == 8080)
        );
    }
    assert!(transport::system_lookup("localhost.invalid", 80).is_err());
}

/// A name server that gives no answer for now says nothing about the name.
#[test]
fn a_temporary_failure_has_a_kind_of_error() {
    let kind = |reason: &'static str| {
        let lookup = move |_: &str, _: u16| -> io::Result<Vec<SocketAddr>> {
            Err(io::Error::other(format!("failed to lookup address information: {reason}")))
        };
        let mut resolver = Resolver::new(Arc::new(Immediate(lookup)), || {});
        let now = Instant::now();
        pending(&mut resolver, "a.test", now);
        let (_, answer) = resolver.answered(now).pop().unwrap();
        io::Error::from(answer.unwrap_err()).kind()
    };
    assert_eq!(kind("Temporary failure in name resolution"), io::ErrorKind::ResourceBusy);
    assert_eq!(kind("Try again"), io::ErrorKind::ResourceBusy);
    assert_eq!(kind("Name or service not known"), io::ErrorKind::NotFound);
}
