//! The tests of the exercise: one or more for each of its tasks. They are copied with
//! it.

use std::cell::RefCell;
use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crawl_core::Options;
use demo_site::scripted::Server;
use selector_core::Interest;
use stage1_callbacks::{CrawlState, EventLoop, Fetcher, crawl};
use transport::system_lookup;

const MILLISECOND: Duration = Duration::from_millis(1);
const RESPONSE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\n";

type Names = Rc<RefCell<Vec<&'static str>>>;

/// The state of a computation that writes its name down when it is called.
struct Named(&'static str, Names);

#[allow(clippy::boxed_local)] // So the loop calls its methods.
fn called(this: Box<Named>, event_loop: &mut EventLoop<Named>) {
    this.1.borrow_mut().push(this.0);
    if this.0 == "last" {
        event_loop.stop();
    }
}

#[test]
fn task_1_the_loop_calls_back_when_a_timer_is_due() {
    let names = Names::default();
    let mut event_loop = EventLoop::new().unwrap();
    let now = event_loop.now();
    for (name, after) in [("last", 60), ("first", 20), ("second", 40)] {
        let this = Box::new(Named(name, Rc::clone(&names)));
        event_loop.call_at(now + after * MILLISECOND, this, called);
    }
    event_loop.run().unwrap();
    assert_eq!(names.take(), ["first", "second", "last"]);
    assert!(event_loop.now() - now >= 60 * MILLISECOND);
    assert!(event_loop.stats().ticks < 10, "it sleeps between two timers");
}

#[test]
fn task_1_the_loop_calls_back_when_a_socket_is_ready() {
    let names = Names::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut event_loop = EventLoop::new().unwrap();
    let (_socket, key) = event_loop.selector.connect(listener.local_addr().unwrap()).unwrap();
    let this = Box::new(Named("last", Rc::clone(&names)));
    event_loop.register(key, Interest::Writable, this, called);
    event_loop.run().unwrap();
    assert_eq!(names.take(), ["last"]);
}

/// Starts one fetch, and runs the loop as long as it can: to the body that is missing
/// in a later task. Then everything is dropped.
fn fetch_one(url: &str) {
    let options = Options::new(vec![url.parse().unwrap()]);
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let mut event_loop = EventLoop::new().unwrap();
        let lookup = Arc::new(system_lookup);
        let crawl = CrawlState::new(&mut event_loop, lookup, options, Box::new(|_| ()));
        let now = event_loop.now();
        let visit = crawl.next_visit(now).unwrap();
        Fetcher::new(&crawl, visit, now).fetch(&mut event_loop);
        event_loop.run().unwrap();
    }));
}

/// Starts a server for one connection, and returns its URL and what `script` returns.
fn serve_one<T: Send + 'static>(
    script: impl FnOnce(std::net::TcpStream) -> T + Send + 'static,
) -> (String, Receiver<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (send, result) = channel();
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let _ = send.send(script(stream));
    });
    (url, result)
}

fn read_request(stream: &mut std::net::TcpStream) -> String {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
        request.push(byte[0]);
    }
    String::from_utf8(request).unwrap()
}

#[test]
fn task_2_the_request_arrives_as_a_whole() {
    let (url, request) = serve_one(|mut stream| {
        let request = read_request(&mut stream);
        let _ = stream.write_all(format!("{RESPONSE}0123456789").as_bytes());
        request
    });
    fetch_one(&url);
    let request = request.recv().unwrap();
    assert!(request.starts_with("GET / HTTP/1.1\r\n"), "{request:?}");
    assert!(request.ends_with("\r\n\r\n"), "{request:?}");
}

#[test]
fn task_3_the_response_is_read_to_its_end_and_then_the_connection_is_closed() {
    let (url, result) = serve_one(|mut stream| {
        read_request(&mut stream);
        stream.write_all(format!("{RESPONSE}01234").as_bytes()).unwrap();
        // Half of the body is missing: the client has to wait.
        stream.set_read_timeout(Some(100 * MILLISECOND)).unwrap();
        let is_still =
            |error: &io::Error| matches!(error.kind(), WouldBlock | TimedOut | Interrupted);
        let is_open = stream.read(&mut [0]).is_err_and(|error| is_still(&error));
        let _ = stream.write_all(b"56789");
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let is_closed = stream.read_to_end(&mut Vec::new()).is_ok_and(|length| length == 0);
        (is_open, is_closed)
    });
    fetch_one(&url);
    let (is_open, is_closed) = result.recv().unwrap();
    assert!(is_open, "closed in the middle of the response");
    assert!(is_closed, "left open after the end of the response");
}

#[test]
fn task_4_the_crawl_finds_every_page_and_ends() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/a>a</a> <a href=/b>b</a>"),
        "/a" => reply.page("<a href=/>back</a> <a href=/c>c</a>"),
        _ => reply.page("an end"),
    })
    .unwrap();
    let mut options = Options::new(vec![server.url("/").parse().unwrap()]);
    options.max_tasks = Some(2);
    let urls = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&urls);
    crawl(options, Box::new(move |row| sink.lock().unwrap().push(row.url.to_string()))).unwrap();
    let mut urls = urls.lock().unwrap().clone();
    urls.sort();
    assert_eq!(urls, ["/", "/a", "/b", "/c"].map(|path| server.url(path)));
}
