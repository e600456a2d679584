//! Servers that lose what they did last, while workers go on.

use std::cell::RefCell;
use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use asyncio::prelude::*;
use crawl_core::{Options, Outcome};
use demo_site::scripted::Server;
use frontier_redis::{RedisFrontier, RedisOptions, Step};
use stage2_coroutines::system_runtime;
use stage3_queue::ShutdownHandle;

use crate::redis::{LOSE, Redis, start_cluster};
use crate::worker::{journal, options, run};

/// A worker that joins a crawl, and leaves it before it has done anything.
pub(crate) fn join_and_leave(redis: RedisOptions, options: Options) {
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let opening =
        RedisFrontier::open(&event_loop, redis, options, Box::new(drop), ShutdownHandle::new());
    runtime.run_sync(opening, Duration::from_secs(20)).unwrap().unwrap();
    drop(runtime);
}

/// Waits until this is so. Returns false if it takes too long.
pub(crate) fn is_soon(mut is_so: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !is_so() && begun.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(5));
    }
    is_so()
}

/// The server forgets that a page was completed, and its child. The worker that has put the
/// child in completes the page again, and must not take the child for known: another page
/// ends only when the child is asked again.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_worker_forgets_what_it_knew_of_a_server_that_was_started_anew() {
    let mut redis = Redis::start();
    let (file, length) = (redis.append_only_file(), Arc::new(AtomicU64::new(0)));
    let is_released = Arc::new(AtomicBool::new(false));
    let (appended, may_end) = (Arc::clone(&length), Arc::clone(&is_released));
    let asked = AtomicU64::new(0);
    let site = Server::start(move |request, reply| match request.path() {
        "/" => reply.page("<a href=/parent>x</a><a href=/slow>x</a>"),
        "/parent" => {
            let length = fs::metadata(&file).map_or(0, |file| file.len());
            let _ = appended.compare_exchange(0, length, Ordering::SeqCst, Ordering::SeqCst);
            reply.page("<a href=/child>x</a>");
        }
        "/child" => {
            asked.fetch_add(1, Ordering::SeqCst);
            is_soon(|| may_end.load(Ordering::SeqCst));
            reply.page("x");
        }
        _ if is_soon(|| asked.load(Ordering::SeqCst) == 2) => reply.page("x"),
        _ => reply.status(500, "Too Late", &[], ""),
    });
    let site = site.unwrap();
    let (url, root) = (redis.url(), site.url("/"));
    let working = thread::spawn(move || {
        let server = frontier_redis::Server::parse(&url).unwrap();
        let redis = RedisOptions::new(server, "known");
        run(RedisOptions { lease: Duration::from_secs(2), ..redis }, options(&root));
    });
    assert!(is_soon(|| site.hits("/child") > 0));
    redis.kill();
    redis.cut(length.load(Ordering::SeqCst));
    redis.start_again();
    join_and_leave(redis.options("known"), options(&site.url("/")));
    is_released.store(true, Ordering::SeqCst);
    working.join().unwrap();
    let rows = journal(&redis.options("known"));
    let pages = rows.values().filter(|row| row.outcome == Outcome::Page).count();
    assert_eq!((rows.len(), pages, site.hits("/parent")), (4, 4, 2), "{rows:?}");
}

/// Nodes lose the children of a page between the moment at which they are put in and that at
/// which the page is completed. Another worker joins in between, when the page has no record
/// yet. With `journal`, the record is moved to a file before the end.
fn lose_children(with_journal: bool) {
    let redis = Redis::start();
    let is_lost = Arc::new(AtomicBool::new(false));
    let others = [(); 4].map(|()| {
        let is_lost = Arc::clone(&is_lost);
        // No other page is completed before.
        let start = Server::start(move |_, reply| {
            is_soon(|| is_lost.load(Ordering::SeqCst));
            reply.page("x");
        });
        start.unwrap()
    });
    let links: String =
        others.iter().map(|o| format!("<a href={}>x</a>", o.url("/child"))).collect();
    let file = redis.folder.join("journal");
    let of_file = file.clone();
    let is_in_file =
        move |text: &str| fs::read_to_string(&of_file).is_ok_and(|lines| lines.contains(text));
    let first = Server::start(move |request, reply| match request.path() {
        "/" => reply.page(format!("{links}<a href=/slow>x</a>")),
        // It ends when the record of the page is in the file.
        _ if !with_journal || is_soon(|| is_in_file("/child")) => reply.page("x"),
        _ => reply.status(500, "Too Late", &[], ""),
    });
    let first = first.unwrap();
    let mut wanted = options(&first.url("/"));
    let others = others.iter().map(|other| other.url("/").parse().unwrap());
    wanted.settings.roots = wanted.settings.roots.iter().cloned().chain(others).collect();
    let mut lost = redis.options("lost");
    lost.partitions = Some(64);
    lost.journal_age = Duration::from_millis(200);
    lost.journal.extend(with_journal.then_some(file));
    // When the roots and all children of other partitions are in: deletes all but the record
    // of the crawl and the partition of the first host, which others may have, too.
    let all_are_in = "local seen = 0
        local first = redis.call('KEYS', '{lost:*:h:' .. ARGV[1])[1]
        local hosts = first and #redis.call('KEYS', first:match('^{lost:%d+}') .. ':h:*') or 1
        for _, key in ipairs(redis.call('KEYS', '{lost:*:seen')) do
          seen = seen + redis.call('SCARD', key)
        end
        if seen < 10 - hosts then return 0 end";
    let script = all_are_in.to_owned() + LOSE;
    let (host, redis) = (first.address().to_string(), Rc::new(RefCell::new(redis)));
    let (server, joining) = (Rc::clone(&redis), wanted.clone());
    lost.on_step = Some(Rc::new(move |step| {
        if step != Step::ChildrenPut || is_lost.load(Ordering::SeqCst) {
            return;
        }
        let mut server = server.borrow_mut();
        if server.command(&["EVAL", &script, "0", &host]) != "0" {
            server.kill();
            server.start_again();
            let (url, joining) = (server.url(), joining.clone());
            let join = move || {
                let server = frontier_redis::Server::parse(&url).unwrap();
                join_and_leave(RedisOptions::new(server, "lost"), joining);
            };
            thread::spawn(join).join().unwrap();
            is_lost.store(true, Ordering::SeqCst);
        }
    }));
    run(lost.clone(), wanted);
    let rows = journal(&lost);
    let pages = rows.values().filter(|row| row.outcome == Outcome::Page).count();
    assert_eq!((rows.len(), pages), (10, 10), "{:?}", rows.keys());
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn children_that_are_lost_before_their_page_is_completed_are_put_in_again() {
    lose_children(false);
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn children_of_a_record_that_is_moved_are_put_in_again() {
    lose_children(true);
}

/// A socket before that of a server. The first reply to a message with `word` is lost: when
/// `is_done`, the connection is closed.
fn lose_a_reply(
    redis: &Redis,
    word: String,
    is_done: impl Fn() -> bool + Send + 'static,
) -> PathBuf {
    let (path, server) = (redis.folder.join("losing"), redis.folder.join("socket"));
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        let mut is_lost = false;
        for client in listener.incoming() {
            let (mut client, mut server) = (client.unwrap(), UnixStream::connect(&server).unwrap());
            let is_mute = Arc::new(AtomicBool::new(false));
            let (mut replies, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let may_reply = Arc::clone(&is_mute);
            thread::spawn(move || {
                let mut bytes = [0; 65_536];
                while let Ok(length @ 1..) = replies.read(&mut bytes) {
                    if !may_reply.load(Ordering::SeqCst) && to.write_all(&bytes[..length]).is_err()
                    {
                        break;
                    }
                }
            });
            let mut bytes = [0; 65_536];
            while let Ok(length @ 1..) = client.read(&mut bytes) {
                let loses = !is_lost && String::from_utf8_lossy(&bytes[..length]).contains(&word);
                is_mute.fetch_or(loses, Ordering::SeqCst);
                server.write_all(&bytes[..length]).unwrap();
                if loses {
                    is_lost = is_soon(&is_done);
                    break;
                }
            }
            let _ = server.shutdown(Shutdown::Both);
            let _ = client.shutdown(Shutdown::Both);
        }
    });
    path
}

/// A page is completed, and the worker does not hear of it. It completes the page again, and
/// has its row.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_row_whose_reply_is_lost_is_written() {
    let redis = Arc::new(Redis::start());
    let site = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/second>x</a>"),
        "/second" => reply.page("<a href=/third>x</a>"),
        _ => reply.page("x"),
    });
    let site = site.unwrap();
    // The thread does not end, and so does not own the server.
    let server = Arc::downgrade(&redis);
    let is_done = move || {
        let done = server.upgrade().map(|redis| redis.command(&["HGET", "{reply:0}", "done"]));
        done.as_deref() == Some("2")
    };
    let word = format!("\"url\":\"{}\"", site.url("/second"));
    let path = lose_a_reply(&redis, word, is_done);
    let server = frontier_redis::Server::parse(&format!("unix://{}", path.display())).unwrap();
    let (_, rows) = run(RedisOptions::new(server, "reply"), options(&site.url("/")));
    let rows: Vec<_> = rows.iter().map(|row| (&*row.url, row.num_new_urls)).collect();
    let (first, second, third) = (site.url("/"), site.url("/second"), site.url("/third"));
    let expected = [(&*first, 1), (&*second, 1), (&*third, 0)];
    assert!(expected.iter().all(|row| rows.contains(row)) && rows.len() == 3, "{rows:?}");
    assert_eq!(redis.command(&["HGET", "{reply:0}", "done"]), "3");
    assert_eq!(site.requests(), 3);
}

/// A worker that begins a crawl notes the run of the node that holds each partition: with
/// another one, the end of the crawl would read the whole journal.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn the_runs_of_the_nodes_of_a_cluster_are_noted_at_the_beginning() {
    let nodes = start_cluster();
    join_and_leave(nodes[0].options("runs"), options("http://a.test/"));
    let run_id = |node: &Redis| {
        let info = node.command(&["INFO", "server"]);
        let id = info.lines().find_map(|line| line.strip_prefix("run_id:"));
        id.unwrap().trim_end().to_owned()
    };
    for partition in 0..12 {
        let noted = nodes.iter().find_map(|node| {
            let noted = node.command(&["HGET", &format!("{{runs:{partition}}}"), "run"]);
            (!noted.starts_with("MOVED")).then(|| (run_id(node), noted))
        });
        let (run, noted) = noted.unwrap();
        assert_eq!(run, noted, "partition {partition}");
    }
}

/// A node is away for longer than a lease. What was claimed on the others is not asked again.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn leases_on_a_node_that_is_there_outlive_the_outage_of_another() {
    let mut nodes = start_cluster();
    let is_back = Arc::new(AtomicBool::new(false));
    let may_answer = Arc::clone(&is_back);
    let site = Server::start(move |_, reply| {
        is_soon(|| may_answer.load(Ordering::SeqCst));
        reply.page("x");
    });
    let site = site.unwrap();
    let (url, root) = (nodes[0].url(), site.url("/"));
    let working = thread::spawn(move || {
        let server = frontier_redis::Server::parse(&url).unwrap();
        let redis = RedisOptions::new(server, "outage");
        run(RedisOptions { lease: Duration::from_secs(2), ..redis }, options(&root)).1.len()
    });
    assert!(is_soon(|| site.requests() > 0));
    let keys = (0..12).map(|partition| format!("{{outage:{partition}}}:leases"));
    let places = keys.flat_map(|key| [0, 1, 2].map(|node| (node, key.clone())));
    let has_lease = |(node, key): &(usize, String)| nodes[*node].command(&["ZCARD", key]) == "1";
    let (node, key) = places.into_iter().find(has_lease).unwrap();
    let away = (node + 1) % 3;
    nodes[away].kill();
    // One more renewal may have been on its way.
    thread::sleep(Duration::from_secs(4));
    let left = "local time = redis.call('TIME')
        local lease = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
        return lease[2] - time[1] * 1000000 - time[2]";
    let left: i64 = nodes[node].command(&["EVAL", left, "1", &key]).parse().unwrap();
    assert!(left > 0, "it has ended {} us ago", -left);
    nodes[away].start_again();
    is_back.store(true, Ordering::SeqCst);
    assert_eq!((working.join().unwrap(), site.requests()), (1, 1));
}
