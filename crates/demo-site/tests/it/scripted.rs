//! Tests of the scripted server.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

use demo_site::scripted::{Reply, Request, Server};

use crate::common::{Client, get, request, wait_until};

fn serve(handler: impl Fn(&Request, &mut Reply<'_>) + Send + Sync + 'static) -> Server {
    Server::start(handler).unwrap()
}

/// Replies with a description of the request.
fn echo(request: &Request, reply: &mut Reply<'_>) {
    reply.page(format!(
        "{} {} {} {}",
        request.method, request.target, request.connection, request.number
    ));
}

#[test]
fn a_script_sees_the_request_as_it_was_sent() {
    let server = serve(|request, reply| {
        assert_eq!(request.method, "GET");
        assert_eq!(request.target, "/a?b=c");
        assert_eq!(request.path(), "/a");
        assert_eq!(request.header("x-name"), Some("value"));
        assert_eq!(request.header("absent"), None);
        assert_eq!(request.headers.len(), 2);
        assert!(request.keep_alive());
        reply.page("fine");
    });
    let mut client = Client::connect(server.address());
    client.send("GET /a?b=c HTTP/1.1\r\nHost: x\r\nX-Name:  value\r\n\r\n");
    let response = client.response();
    assert_eq!((response.status, response.text()), (200, "fine"));
    assert_eq!(response.field("content-type"), Some("text/html; charset=utf-8"));
    let url = format!("http://{}/a", server.address());
    assert_eq!(server.url("/a"), url);
}

#[test]
fn connections_are_kept_alive_and_numbered() {
    let server = serve(echo);
    let mut first = Client::connect(server.address());
    assert_eq!(first.get("/").text(), "GET / 1 1");
    assert_eq!(first.get("/a").text(), "GET /a 1 2");
    let mut second = Client::connect(server.address());
    assert_eq!(second.get("/a").text(), "GET /a 2 1");
    // Pipelined requests are counted one by one.
    first.send([request("/b"), request("/c")].concat());
    assert_eq!(first.response().text(), "GET /b 1 3");
    assert_eq!(first.response().text(), "GET /c 1 4");
    assert_eq!((server.connections(), server.requests()), (2, 5));
    assert_eq!((server.hits("/a"), server.hits("/none")), (2, 0));
    assert_eq!(server.all_hits().len(), 4);
}

#[test]
fn the_client_can_ask_to_close_the_connection() {
    let server = serve(echo);
    for head in ["GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"]
    {
        let mut client = Client::connect(server.address());
        client.send(head);
        assert_eq!(client.response().status, 200);
        assert!(client.is_at_end());
    }
}

#[test]
fn a_response_has_the_given_header_fields() {
    let server = serve(|request, reply| match request.path() {
        "/moved" => reply.status(302, "Found", &[("Location", "/")], "gone"),
        "/nothing" => reply.status(204, "No Content", &[], ""),
        "/early" => {
            reply.status(103, "Early Hints", &[], "");
            reply.page("late");
        }
        _ => reply.status(200, "OK", &[("Transfer-Encoding", "chunked")], "2\r\nhi\r\n0\r\n\r\n"),
    });
    let mut client = Client::connect(server.address());
    let moved = client.get("/moved");
    assert_eq!((moved.status, moved.text()), (302, "gone"));
    assert_eq!(moved.field("location"), Some("/"));
    client.send(request("/nothing"));
    assert_eq!(client.head().head, "HTTP/1.1 204 No Content\r\n\r\n");
    client.send(request("/early"));
    assert_eq!(client.head().status, 103);
    assert_eq!(client.response().text(), "late");
    let chunked = client.get("/chunked");
    assert_eq!(chunked.text(), "hi");
    assert_eq!(chunked.field("content-length"), None);
}

#[test]
fn bytes_are_sent_as_they_are() {
    let server = serve(|_, reply| {
        reply.send("garbage\0");
        reply.send([0xff, 0xfe]);
        reply.close();
        reply.send("too late");
    });
    let mut client = Client::connect(server.address());
    client.send(request("/"));
    assert_eq!(client.rest(), b"garbage\0\xff\xfe");
}

#[test]
fn a_dripped_reply_arrives_chunk_by_chunk() {
    const PAUSE: Duration = Duration::from_millis(100);
    let server = serve(|_, reply| reply.drip("HTTP/1.1 200 OK\r\n\r\nabc", 6, PAUSE));
    let mut client = Client::connect(server.address());
    let start = Instant::now();
    client.send("GET / HTTP/1.0\r\n\r\n");
    let mut first = [0; 100];
    let count = client.read(&mut first).unwrap();
    // On a busy machine it may be more than one chunk, but not all.
    assert!(count.is_multiple_of(6) && count < 22, "{count} bytes at once");
    assert_eq!([&first[..count], &client.rest()].concat(), b"HTTP/1.1 200 OK\r\n\r\nabc");
    assert!(start.elapsed() >= PAUSE * 4);
}

#[test]
fn a_connection_can_be_reset() {
    let server = serve(|request, reply| match request.number {
        1 => reply.page("still here"),
        _ => reply.reset(),
    });
    let mut client = Client::connect(server.address());
    assert_eq!(client.get("/").text(), "still here");
    client.send(request("/"));
    let error = client.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_script_may_leave_a_request_unanswered() {
    let server = serve(|request, reply| {
        if request.number > 1 {
            reply.page("at last");
        }
    });
    let mut client = Client::connect(server.address());
    client.send(request("/"));
    let soon = Some(Duration::from_millis(30));
    client.stream.set_read_timeout(soon).unwrap();
    let error = client.read(&mut [0]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut));
    client.stream.set_read_timeout(None).unwrap();
    assert_eq!(client.get("/").text(), "at last");
}

#[test]
fn requests_in_flight_are_counted() {
    const CLIENTS: usize = 20;
    let all_are_here = Barrier::new(CLIENTS);
    let server = serve(move |request, reply| {
        if request.path() == "/together" {
            all_are_here.wait();
        }
        reply.page("");
        // The reply has begun, so the request is no longer in flight.
        reply.sleep(Duration::from_millis(1));
    });
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| Client::connect(server.address())).collect();
    for client in &mut clients {
        client.send(request("/together"));
    }
    for client in &mut clients {
        client.response();
    }
    assert_eq!(server.peak_in_flight(), CLIENTS);
    assert_eq!(clients[0].get("/").status, 200);
    assert_eq!(server.peak_in_flight(), CLIENTS);
}

#[test]
fn malformed_requests_never_reach_the_script() {
    let server = serve(|_, _| unreachable!());
    let long = "x".repeat(70_000);
    for request_bytes in ["hello\r\n\r\n", &long] {
        let mut client = Client::connect(server.address());
        let _ = client.stream.write_all(request_bytes.as_bytes());
        assert_eq!(client.response().status, 400);
        assert!(client.is_at_end());
    }
}

#[test]
fn dropping_the_server_interrupts_all_scripts() {
    let server = serve(|request, reply| match request.path() {
        "/sleep" => {
            reply.sleep(Duration::from_secs(60));
            reply.page("never");
        }
        "/drip" => reply.drip([b'x'; 1000], 1, Duration::from_secs(60)),
        "/flood" => {
            // More than the socket buffers hold; the client does not read.
            reply.send(vec![b'x'; 16 << 20]);
        }
        _ => {}
    });
    let mut clients = ["/sleep", "/drip", "/flood", "/silence"].map(|path| {
        let mut client = Client::connect(server.address());
        client.send(request(path));
        client
    });
    wait_until(|| server.requests() == clients.len() as u64);
    let address = server.address();
    let start = Instant::now();
    drop(server);
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(clients[0].is_at_end());
    // A process that another test starts has a copy of the listener until it runs.
    wait_until(|| TcpStream::connect(address).is_err());
}

#[test]
fn a_raw_script_reads_and_writes_the_connection_itself() {
    let server = Server::start_raw(|stream, connection| {
        if connection == 1 {
            return;
        }
        stream.write_all(b"unasked").unwrap();
        let mut received = [0; 5];
        stream.read_exact(&mut received).unwrap();
        stream.write_all(&received).unwrap();
    })
    .unwrap();
    assert!(Client::connect(server.address()).is_at_end());
    let mut client = Client::connect(server.address());
    client.send("hello");
    assert_eq!(client.rest(), b"unaskedhello");
    assert_eq!((server.connections(), server.requests()), (2, 0));
}

#[test]
fn connections_beyond_the_limit_wait_to_be_accepted() {
    let server = serve(echo);
    let mut clients: Vec<_> = (0..700).map(|_| Client::connect(server.address())).collect();
    for client in &mut clients[..600] {
        assert_eq!(client.get("/").status, 200);
    }
    assert_eq!(server.connections(), 600);
    let mut waiting = clients.split_off(600);
    drop(clients);
    for client in &mut waiting {
        assert_eq!(client.get("/").status, 200);
    }
    assert_eq!(server.connections(), 700);
}

#[test]
#[should_panic(expected = "a handler of the scripted server has panicked")]
fn a_failed_assertion_of_a_script_fails_the_test() {
    let server = serve(|request, _| assert_eq!(request.target, "/expected"));
    let mut client = Client::connect(server.address());
    client.send(request("/other"));
    assert!(client.is_at_end());
}

#[test]
fn a_script_can_keep_state() {
    let script = Mutex::new(vec!["third", "second", "first"]);
    let server = serve(move |_, reply| match script.lock().unwrap().pop() {
        Some(answer) => reply.page(answer),
        None => reply.status(503, "Service Unavailable", &[], ""),
    });
    let answers = [(); 4].map(|()| get(server.address(), "/"));
    let texts = answers.iter().map(|answer| answer.text());
    assert_eq!(texts.collect::<Vec<_>>(), ["first", "second", "third", ""]);
    assert_eq!(answers[3].status, 503);
}
