//! The ways to a server: TLS, a login, a Unix socket.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use asyncio::prelude::*;
use demo_site::{DemoSite, SiteOptions};
use frontier_redis::{RedisFrontier, RedisOptions, Server, report, status};
use stage2_coroutines::system_runtime;
use stage3_queue::ShutdownHandle;
use test_support::authority::Authority;
use test_support::free_port;

use crate::redis::Redis;
use crate::worker::{assert_same, journal, options, run, witness};

fn at(url: &str, name: &str) -> RedisOptions {
    let mut redis = RedisOptions::new(Server::parse(url).unwrap(), name);
    redis.max_wait = Duration::from_secs(10);
    redis
}

/// Crawls a site through this door, and reads the journal through it.
fn assert_crawls(redis: &RedisOptions) {
    let site = DemoSite::start(SiteOptions::default()).unwrap();
    let (summary, _) = run(redis.clone(), options(&site.root()));
    assert!(summary.stopped.is_none(), "{:?}", summary.stopped);
    assert_same(&journal(redis), &witness(options(&site.root())));
}

/// Returns the error with which a crawl of this name is not shown.
fn refusal(redis: &RedisOptions) -> String {
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let state = runtime.run_sync(status(&event_loop, redis), Duration::from_secs(20));
    state.unwrap().unwrap_err().to_string()
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_server_with_tls_is_known_by_its_certificate() {
    let (authority, port) = (Authority::new("of the test"), free_port());
    let identity = authority.issue(&["localhost", "127.0.0.1"]);
    let folder = std::env::temp_dir().join(format!("frontier-tls-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let redis = Redis::start_with(vec![
        "--tls-port".to_owned(),
        port.to_string(),
        "--tls-cert-file".to_owned(),
        file("chain.pem", identity.chain_pem()),
        "--tls-key-file".to_owned(),
        file("key.pem", &identity.key_pem()),
        "--tls-ca-cert-file".to_owned(),
        file("authority.pem", &authority.pem()),
        "--tls-auth-clients".to_owned(),
        "no".to_owned(),
    ]);
    let mut secure = at(&format!("rediss://localhost:{port}/"), "tls");
    secure.max_wait = Duration::from_millis(100);
    assert!(refusal(&secure).contains("certificate"), "{}", refusal(&secure));
    secure.ca_certificates = vec![authority.der()];
    assert_crawls(&secure);
    let (mut any, mut rows) = (at(&format!("rediss://127.0.0.1:{port}/"), "tls"), 0);
    any.insecure = true;
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let mut count = |_| rows += 1;
    let report: io::Result<_> =
        runtime.run_sync(report(&event_loop, &any, &mut count), Duration::from_secs(20)).unwrap();
    assert!(report.is_ok() && rows > 0);
    drop(redis);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_password_is_asked_for() {
    let port = free_port();
    let redis = Redis::start_with(vec!["--port".to_owned(), port.to_string()]);
    redis.command(&["CONFIG", "SET", "requirepass", "s3 cret"]);
    let url = |login: &str| format!("redis://{login}127.0.0.1:{port}/3");
    assert!(refusal(&at(&url(""), "password")).contains("NOAUTH"));
    let wrong = refusal(&at(&url(":other@"), "password"));
    assert!(wrong.contains("WRONGPASS") && !wrong.contains("other"), "{wrong}");
    assert_crawls(&at(&url(":s3%20cret@"), "password"));
    let socket = format!("{}?db=3&password=s3%20cret", redis.url());
    assert!(!journal(&at(&socket, "password")).is_empty());
}

/// A user has the rights that the crate's documentation names, and no others.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_user_needs_no_more_than_its_own_keys() {
    let redis = Redis::start();
    let rules = "ON >secret ~{mine:* +@all -@admin -@dangerous +info +bgrewriteaof +cluster|slots";
    let rules: Vec<_> = rules.split(' ').collect();
    assert_eq!(redis.command(&[&["ACL", "SETUSER", "crawler"], &rules[..]].concat()), "OK");
    let url = format!("{}?user=crawler&password=secret", redis.url());
    assert_crawls(&at(&url, "mine"));
    let other = refusal(&at(&url, "yours"));
    assert!(other.contains("NOPERM"), "{other}");
}

/// Starts a server that answers each call with what `answer` returns for its text, until that
/// is nothing: then it closes the connection. Of itself it says nothing.
fn answers(listener: TcpListener, answer: impl Fn(&str) -> String + Clone + Send + 'static) {
    thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            thread::spawn(move || {
                let mut bytes = [0; 65_536];
                while let Ok(length @ 1..) = client.read(&mut bytes) {
                    let call = String::from_utf8_lossy(&bytes[..length]).into_owned();
                    let is_greeting = call.contains("INFO") && call.contains("server");
                    let reply = if is_greeting { "$0\r\n\r\n".to_owned() } else { answer(&call) };
                    if reply.is_empty() || client.write_all(reply.as_bytes()).is_err() {
                        break;
                    }
                }
            });
        }
    });
}

/// Starts a server that sends each call to the node at another port, as in a cluster.
fn sends_on(listener: TcpListener, port: u16) {
    answers(listener, move |_| format!("-MOVED 1 127.0.0.1:{port}\r\n"));
}

/// Two nodes that send each call to each other are waited for, and not for ever.
#[test]
fn nodes_that_send_each_other_all_calls_are_no_cluster() {
    let nodes = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let ports = nodes.each_ref().map(|node| node.local_addr().unwrap().port());
    let [one, other] = nodes;
    sends_on(one, ports[1]);
    sends_on(other, ports[0]);
    let mut redis = at(&format!("redis://127.0.0.1:{}/", ports[0]), "moved");
    redis.max_wait = Duration::from_millis(300);
    let refusal = refusal(&redis);
    assert!(refusal.contains("no node has what the cluster says"), "{refusal}");
}

/// While a slot is moved key by key, a script may find a part of its keys only.
#[test]
fn a_slot_that_is_being_moved_is_not_waited_for() {
    for word in ["ASK 1 127.0.0.1:1", "TRYAGAIN Multiple keys request during rehashing of slot"] {
        let node = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis://{}/", node.local_addr().unwrap());
        answers(node, move |_| format!("-{word}\r\n"));
        let refusal = refusal(&at(&url, "asked"));
        assert!(refusal.contains("slots of the cluster are being moved"), "{refusal}");
    }
}

/// A call may have been made by the node that held its slot before: its reply was lost. The
/// node to which it is sent then is told that it is repeated.
#[test]
fn a_call_that_is_repeated_at_another_node_is_still_a_repeated_one() {
    let nodes = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let ports = nodes.each_ref().map(|node| node.local_addr().unwrap().port());
    let [one, other] = nodes;
    let scripts = Arc::new(AtomicU32::new(0));
    answers(one, move |call| match call.contains("EVALSHA") {
        false => "-ERR this instance has cluster support disabled\r\n".to_owned(),
        true if scripts.fetch_add(1, Ordering::SeqCst) == 0 => String::new(),
        true => format!("-MOVED 1 127.0.0.1:{}\r\n", ports[1]),
    });
    // Behind the key stands whether the call is repeated.
    answers(other, |call| {
        let flag = call.split("{again:0}\r\n").nth(1).and_then(|rest| rest.lines().nth(1));
        format!("-ERR repeated: {}\r\n", flag.unwrap_or("unknown"))
    });
    let error = refusal_to_begin(at(&format!("redis://127.0.0.1:{}/", ports[0]), "again"));
    assert!(error.contains("repeated: 1"), "{error}");
}

/// Returns the error with which a crawl of this name is not begun.
fn refusal_to_begin(redis: RedisOptions) -> String {
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let (sink, shutdown) = (Box::new(drop), ShutdownHandle::new());
    let opening =
        RedisFrontier::open(&event_loop, redis, options("http://a.test/"), sink, shutdown);
    let opened = runtime.run_sync(opening, Duration::from_secs(20)).unwrap();
    opened.err().unwrap().to_string()
}

/// A worker that does not see the other nodes would take one of a cluster for the only one.
#[test]
fn a_user_who_may_not_ask_for_the_nodes_of_a_cluster_is_refused() {
    for (is_cluster, expected) in [(1, "NOPERM"), (0, "one server")] {
        let node = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis://{}/", node.local_addr().unwrap());
        answers(node, move |call| match call {
            _ if call.contains("SLOTS") => "-NOPERM this user may not\r\n".to_owned(),
            _ if call.contains("INFO") => format!("$17\r\ncluster_enabled:{is_cluster}\r\n"),
            _ => "-ERR one server\r\n".to_owned(),
        });
        let error = refusal_to_begin(at(&url, "rights"));
        assert!(error.contains(expected), "{error}");
    }
}
