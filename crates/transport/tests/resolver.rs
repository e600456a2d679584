//! Look-ups: off the caller's thread, each name once, waiters by ticket.
#![allow(clippy::unwrap_used, missing_docs)]

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use transport::{BlockingResolver, Reply, Resolver};

const SOON: Duration = Duration::from_secs(5);

/// A resolver of names that exist in this file only, how often it was asked,
/// and its bell.
fn resolver() -> (Resolver<&'static str>, Arc<AtomicUsize>, Receiver<()>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let (ring, bell) = channel();
    let ring = Mutex::new(ring);
    let look_up = move |host: &str, port| {
        count.fetch_add(1, Ordering::SeqCst);
        look_up_here(host, port)
    };
    let notify = move || ring.lock().unwrap().send(()).unwrap();
    (Resolver::new(Arc::new(look_up), notify), asked, bell)
}

fn look_up_here(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    match host {
        "two.test" => Ok(vec![([127, 0, 0, 1], port).into(), ([127, 0, 0, 2], port).into()]),
        "empty.test" => Ok(Vec::new()),
        "many.test" => Ok((0..100).map(|n| ([127, 0, 0, n], port).into()).collect()),
        "bug.test" => panic!("a bug in the look-up"),
        _ => Err(io::Error::other("no such host")),
    }
}

#[test]
fn an_answer_comes_after_the_bell_and_is_kept() {
    let (mut resolver, asked, bell) = resolver();
    let now = Instant::now();
    for waiter in ["first", "second"] {
        let reply = resolver.look_up("two.test", 80, now, waiter);
        assert!(matches!(reply, Reply::Pending(_)));
    }
    bell.recv_timeout(SOON).unwrap();
    let answered = resolver.answered(now);
    let names: Vec<_> = answered.iter().map(|(waiter, _)| *waiter).collect();
    assert_eq!(names, ["first", "second"]);
    assert_eq!(answered[0].1.as_ref().unwrap().len(), 2);
    assert_eq!(asked.load(Ordering::SeqCst), 1, "one question for both");

    let later = now + Duration::from_secs(59);
    assert!(matches!(resolver.look_up("two.test", 80, later, "third"), Reply::Known(..)));
    let too_late = now + Duration::from_secs(61);
    assert!(matches!(resolver.look_up("two.test", 80, too_late, "fourth"), Reply::Pending(_)));
}

#[test]
fn addresses_need_no_look_up() {
    let (mut resolver, asked, _bell) = resolver();
    for (host, address) in
        [("127.0.0.1", "127.0.0.1:81"), ("[::1]", "[::1]:81"), ("::1", "[::1]:81")]
    {
        match resolver.look_up(host, 81, Instant::now(), "waiter") {
            Reply::Known(addresses, "waiter") => {
                assert_eq!(addresses[..], [address.parse().unwrap()]);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[test]
fn who_was_taken_back_is_not_answered() {
    let (mut resolver, _, bell) = resolver();
    let now = Instant::now();
    let Reply::Pending(ticket) = resolver.look_up("two.test", 80, now, "impatient") else {
        panic!("known already");
    };
    resolver.look_up("two.test", 80, now, "patient");
    assert_eq!(resolver.take_back(ticket), Some("impatient"));
    assert_eq!(resolver.take_back(ticket), None);
    bell.recv_timeout(SOON).unwrap();
    let answered = resolver.answered(now);
    assert_eq!(answered.len(), 1);
    assert_eq!(answered[0].0, "patient");
    assert_eq!(resolver.waiting(), 0);
}

#[test]
fn every_question_is_answered_whatever_the_look_up_does() {
    let (mut resolver, _, bell) = resolver();
    let now = Instant::now();
    // More than there are threads at a time.
    let hosts: Vec<String> = (0..20).map(|n| format!("unknown-{n}.test")).collect();
    for host in hosts.iter().map(String::as_str).chain(["empty.test", "bug.test"]) {
        resolver.look_up(host, 80, now, "waiter");
    }
    let mut answered = Vec::new();
    while answered.len() < 22 {
        bell.recv_timeout(SOON).unwrap();
        answered.extend(resolver.answered(now));
    }
    assert!(answered.iter().all(|(_, answer)| answer.is_err()));
    let message = answered[0].1.as_ref().unwrap_err().to_string();
    assert!(message.starts_with("no address for unknown-"), "{message}");
}

#[test]
fn the_number_of_addresses_is_bounded() {
    let (mut resolver, _, bell) = resolver();
    resolver.look_up("many.test", 80, Instant::now(), "waiter");
    bell.recv_timeout(SOON).unwrap();
    let answered = resolver.answered(Instant::now());
    assert_eq!(answered[0].1.as_ref().unwrap().len(), 16);
}

#[test]
fn a_blocking_look_up_ends_when_patience_does() {
    let (resolver, asked, release) = blocking_resolver();
    assert_eq!(resolver.look_up("slow.test", 80, Duration::from_millis(20)), Ok(None));
    assert_eq!(resolver.look_up("slow.test", 80, Duration::from_millis(20)), Ok(None));
    assert_eq!(asked.load(Ordering::SeqCst), 1, "the first question is still under way");
    // Others do not wait for it.
    assert_eq!(resolver.look_up("two.test", 80, SOON).unwrap().unwrap().len(), 2);
    assert_eq!(resolver.look_up("127.0.0.9", 80, SOON).unwrap().unwrap().len(), 1);
    for (host, why) in [
        ("bug.test", "the look-up itself failed"),
        ("empty.test", "the answer is empty"),
        ("unknown.test", "no such host"),
    ] {
        let error = resolver.look_up(host, 80, SOON).unwrap_err();
        assert_eq!(error.to_string(), format!("no address for {host}: {why}"));
    }
    // What nobody waited for is there for the next one.
    drop(release);
    assert_eq!(resolver.look_up("slow.test", 80, SOON).unwrap().unwrap().len(), 1);
    assert_eq!(resolver.look_up("slow.test", 80, Duration::ZERO).unwrap().unwrap().len(), 1);
    assert_eq!(asked.load(Ordering::SeqCst), 5);
}

#[test]
fn threads_that_ask_for_the_same_name_wait_for_one_look_up() {
    const THREADS: usize = 20;
    let (resolver, asked, release) = blocking_resolver();
    let answers: Vec<_> = thread::scope(|scope| {
        let ask = || resolver.look_up("slow.test", 80, SOON).unwrap().unwrap();
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
        // Nobody can be done yet, and most have asked by now.
        thread::sleep(Duration::from_millis(50));
        assert!(threads.iter().all(|thread| !thread.is_finished()));
        drop(release);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| answer[..] == answers[0][..]));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

/// As [`resolver`], for callers who wait. It knows "slow.test" from the moment
/// that what is returned last is dropped.
fn blocking_resolver() -> (BlockingResolver, Arc<AtomicUsize>, Sender<()>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let (release, held) = channel::<()>();
    let held = Mutex::new(held);
    let resolver = BlockingResolver::new(Arc::new(move |host: &str, port| {
        count.fetch_add(1, Ordering::SeqCst);
        if host != "slow.test" {
            return look_up_here(host, port);
        }
        let _ = held.lock().unwrap().recv();
        Ok(vec![([127, 0, 0, 3], port).into()])
    }));
    (resolver, asked, release)
}
