//! Models of the resolver, whose threads leave their answers for the loop.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use crate::loops::Sleep;
use crate::resolver::{Lookup, LookupId, Resolver};

fn resolver() -> (Arc<Sleep>, Resolver) {
    let (sleep, notify) = Sleep::new();
    let lookup = |name: &str, port: u16| match name {
        "missing.test" => Err(io::Error::other("no such host")),
        "panics.test" => panic!("a lookup that panics"),
        _ => Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))]),
    };
    (sleep, Resolver::new(Arc::new(lookup), notify))
}

fn start(resolver: &mut Resolver, name: &str, now: Instant) -> LookupId {
    match resolver.lookup(name, 80, now) {
        Lookup::Pending(lookup_id) => lookup_id,
        Lookup::Cached(_) => panic!("{name} is in the cache"),
    }
}

/// A loop that waits for two names; two lookups want the first.
#[test]
fn every_lookup_is_answered() {
    loom::model(|| {
        let (sleep, mut resolver) = resolver();
        let now = Instant::now();
        let ids = ["a.test", "a.test", "missing.test"].map(|name| start(&mut resolver, name, now));
        let mut answered = Vec::new();
        while answered.len() < ids.len() {
            sleep.wait();
            answered.extend(resolver.answered(now));
        }
        answered.sort_by_key(|(lookup_id, _)| *lookup_id);
        let expected = ids.into_iter().zip([true, true, false]);
        assert!(answered.iter().map(|(id, result)| (*id, result.is_ok())).eq(expected));
    });
}

/// A lookup that is cancelled while its thread runs, and one that is started then.
#[test]
fn a_cancelled_lookup_is_not_answered() {
    loom::model(|| {
        let (sleep, mut resolver) = resolver();
        let now = Instant::now();
        let cancelled = start(&mut resolver, "a.test", now);
        resolver.cancel(cancelled);
        let wanted = start(&mut resolver, "b.test", now);
        let mut answered = Vec::new();
        while answered.is_empty() {
            sleep.wait();
            answered.extend(resolver.answered(now));
        }
        assert!(answered.iter().map(|(id, _)| *id).eq([wanted]));
    });
}
