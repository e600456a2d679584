//! Tests of the site's connections: keep-alive, pipelining, latency, slow
//! readers, malformed requests, shutdown.

use std::io::Write;
use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

use demo_site::{Connections, DemoSite, Latency, SiteOptions};

use crate::common::{Client, get, request, wait_until};

const LATENCY: Duration = Duration::from_millis(100);

fn site(options: SiteOptions) -> DemoSite {
    DemoSite::start(options).unwrap()
}

fn plain() -> DemoSite {
    site(SiteOptions::default())
}

fn slow() -> DemoSite {
    site(SiteOptions { latency: Latency::Fixed(LATENCY), ..SiteOptions::default() })
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let of_seed = |seed| {
        let site = site(SiteOptions { seed, ..SiteOptions::default() });
        let mut client = Client::connect(site.address());
        ["/", "/page/1", "/page/99", "/special/"].map(|path| client.get(path))
    };
    let (one, two) = (of_seed(1), of_seed(2));
    assert_eq!(one, of_seed(1));
    for page in 0..3 {
        assert_ne!(one[page].body, two[page].body);
        assert_eq!(one[page].body.len(), 8 * 1024);
    }
}

#[test]
fn urls_are_absolute() {
    let site = plain();
    assert!(site.address().ip().is_loopback());
    assert_eq!(site.root(), format!("http://{}/", site.address()));
    assert_eq!(site.url("/a?b"), format!("http://{}/a?b", site.address()));
}

#[test]
fn a_connection_is_kept_alive() {
    let site = plain();
    let mut client = Client::connect(site.address());
    for page in 1..50 {
        let response = client.get(&format!("/page/{page}"));
        assert_eq!(response.status, 200);
        assert_eq!(response.field("connection"), None);
    }
    assert_eq!((site.connections(), site.requests()), (1, 49));
}

#[test]
fn a_connection_is_closed_when_either_side_says_so() {
    let site = plain();
    for head in
        ["GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"]
    {
        let mut client = Client::connect(site.address());
        client.send(head);
        assert_eq!(client.response().field("connection"), Some("close"));
        assert!(client.is_at_end());
    }
    let closing =
        DemoSite::start(SiteOptions { connections: Connections::Close, ..SiteOptions::default() });
    let closing = closing.unwrap();
    for path in ["/", "/nowhere", "/baz"] {
        let mut client = Client::connect(closing.address());
        assert_eq!(client.get(path).field("connection"), Some("close"));
        assert!(client.is_at_end());
    }
}

#[test]
fn an_http_1_0_client_can_keep_its_connection() {
    let site = plain();
    let mut client = Client::connect(site.address());
    for _ in 0..2 {
        client.send("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
        let response = client.response();
        assert_eq!(response.field("connection"), Some("keep-alive"));
    }
    assert_eq!(site.connections(), 1);
}

#[test]
fn head_is_get_without_the_body() {
    let site = plain();
    let mut client = Client::connect(site.address());
    for path in ["/", "/page/7", "/chunked", "/picture.png", "/nowhere"] {
        client.send(format!("HEAD {path} HTTP/1.1\r\nHost: test\r\n\r\n"));
        let head = client.head();
        let whole = client.get(path);
        assert_eq!(head.head, whole.head, "{path}");
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    for latency in [Latency::None, Latency::Fixed(Duration::from_millis(1))] {
        let site = site(SiteOptions { latency, ..SiteOptions::default() });
        let mut client = Client::connect(site.address());
        // More requests than the budget of one turn of the loop.
        let pages = 1..99;
        let requests = pages.clone().map(|page| request(&format!("/page/{page}")));
        client.send(requests.collect::<String>());
        for page in pages {
            let title = format!("<title>Page {page}</title>");
            assert!(client.response().text().contains(&title));
        }
    }
}

#[test]
fn a_request_may_arrive_byte_by_byte() {
    let site = plain();
    let mut client = Client::connect(site.address());
    for line_end in ["\r\n", "\n"] {
        let request = format!("{line_end}GET /baz HTTP/1.1{line_end}Host: x{line_end}{line_end}");
        for byte in request.bytes() {
            client.send([byte]);
            thread::yield_now();
        }
        assert_eq!(client.response().status, 200);
    }
    assert_eq!(site.hits("/baz"), 2);
}

#[test]
fn slow_readers_get_large_pages_whole() {
    const SIZE: usize = 3 << 20;
    let site = site(SiteOptions { page_size: SIZE, ..SiteOptions::default() });
    let mut clients: Vec<_> = (0..10).map(|_| Client::connect(site.address())).collect();
    for client in &mut clients {
        client.send(request("/page/5"));
    }
    // The buffers of all these clients are full, and another one is still served.
    assert_eq!(get(site.address(), "/baz").status, 200);
    let first = clients[0].response();
    assert_eq!(first.body.len(), SIZE);
    assert!(first.body.ends_with(b"</html>\n"));
    for client in &mut clients[1..] {
        assert!(client.response() == first);
    }
}

#[test]
fn a_half_closed_client_is_still_answered() {
    let site = slow();
    let mut client = Client::connect(site.address());
    client.send(request("/baz"));
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.response().status, 200);
    assert!(client.is_at_end());
}

#[test]
fn malformed_requests_are_refused() {
    let site = plain();
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(70_000));
    let endless = "X: y\r\n".repeat(20_000);
    for (request_bytes, status) in [
        ("hello\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/3\r\nHost: x\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", 400),
        (&long, 400),
        (&endless, 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 405),
    ] {
        let mut client = Client::connect(site.address());
        // The server may close before it has read everything.
        let _ = client.stream.write_all(request_bytes.as_bytes());
        let response = client.response();
        assert_eq!(response.status, status);
        assert_eq!(response.field("connection"), Some("close"));
        assert!(client.is_at_end());
    }
    // Other connections are not affected.
    assert_eq!(get(site.address(), "/").status, 200);
}

#[test]
fn hits_are_counted() {
    let site = plain();
    let mut client = Client::connect(site.address());
    for path in ["/", "/page/3", "/page/3", "/foo", "/lost", "/lost?a"] {
        client.get(path);
    }
    let hits = site.all_hits();
    let hits: Vec<_> = hits.iter().map(|(path, hits)| (path.as_str(), *hits)).collect();
    assert_eq!(hits, [("/", 1), ("/foo", 1), ("/lost", 1), ("/lost?a", 1), ("/page/3", 2)]);
    assert_eq!(site.hits("/page/3"), 2);
    assert_eq!(site.hits("/page/4"), 0);
    assert_eq!(site.hits("/lost"), 1);
    assert_eq!(site.requests(), 6);
}

#[test]
fn a_response_comes_after_its_latency() {
    let site = slow();
    let start = Instant::now();
    assert_eq!(get(site.address(), "/").status, 200);
    let elapsed = start.elapsed();
    assert!(elapsed >= LATENCY, "{elapsed:?}");
}

#[test]
fn a_reset_connection_is_not_in_flight() {
    let site = site(SiteOptions {
        latency: Latency::Fixed(Duration::from_secs(60)),
        ..SiteOptions::default()
    });
    let mut client = Client::connect(site.address());
    client.send(request("/"));
    wait_until(|| site.in_flight_now() == 1);
    // A reset: a half-closed client (FIN) would still wait for its answer.
    let socket = socket2::SockRef::from(&client.stream);
    socket.set_linger(Some(Duration::ZERO)).unwrap();
    drop(client);
    wait_until(|| site.in_flight_now() == 0);
}

#[test]
fn waiting_requests_are_counted_and_can_be_released() {
    let site = site(SiteOptions {
        latency: Latency::Fixed(Duration::from_secs(60)),
        ..SiteOptions::default()
    });
    let mut clients: Vec<_> = (0..50).map(|_| Client::connect(site.address())).collect();
    clients.iter_mut().for_each(|client| client.send(request("/")));
    wait_until(|| site.in_flight_now() == 50);
    site.release().unwrap();
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
        assert_eq!(client.get("/page/1").status, 200, "who comes later does not wait either");
    }
    assert_eq!((site.in_flight_now(), site.peak_in_flight()), (0, 50));
}

#[test]
fn the_same_page_can_be_mere_bytes() {
    let (html, plain) = (plain(), site(SiteOptions { is_html: false, ..SiteOptions::default() }));
    let [html, plain] = [html, plain].map(|site| get(site.address(), "/page/1"));
    assert_eq!(html.field("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(plain.field("content-type"), Some("application/octet-stream"));
    assert_eq!(html.body, plain.body);
}

#[test]
fn the_latency_of_one_response_delays_no_other() {
    let site = site(SiteOptions {
        latency: Latency::Spread { min: Duration::ZERO, max: Duration::from_millis(200) },
        ..SiteOptions::default()
    });
    let mut clients: Vec<_> = (1..100)
        .map(|page| {
            let mut client = Client::connect(site.address());
            client.send(request(&format!("/page/{page}")));
            client
        })
        .collect();
    let start = Instant::now();
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
    }
    // One after the other, the requests would have taken ten seconds.
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(site.peak_in_flight() > 10);
}

#[test]
fn two_thousand_connections_are_served() {
    let site = plain();
    let mut clients: Vec<_> = (0..2000).map(|_| Client::connect(site.address())).collect();
    for _ in 0..2 {
        for client in &mut clients {
            client.send(request("/page/1"));
        }
        for client in &mut clients {
            assert_eq!(client.response().status, 200);
        }
    }
    assert_eq!((site.connections(), site.requests()), (2000, 4000));
}

#[test]
fn dropping_the_site_closes_all_connections_at_once() {
    let site = site(SiteOptions {
        latency: Latency::Fixed(Duration::from_secs(60)),
        ..SiteOptions::default()
    });
    let mut idle = Client::connect(site.address());
    idle.send("GET /baz HTT");
    let mut waiting = Client::connect(site.address());
    waiting.send(request("/"));
    wait_until(|| site.in_flight_now() == 1);
    let address = site.address();
    let start = Instant::now();
    drop(site);
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(idle.is_at_end());
    assert!(matches!(waiting.read(&mut [0]), Ok(0) | Err(_)));
    // A process that another test starts has a copy of the listener until it runs.
    wait_until(|| std::net::TcpStream::connect(address).is_err());
    // The address can be used again.
    let restarted = DemoSite::start_on(address, SiteOptions::default()).unwrap();
    assert_eq!(get(restarted.address(), "/").status, 200);
}

#[test]
fn an_address_in_use_is_an_error() {
    let site = plain();
    let error = DemoSite::start_on(site.address(), SiteOptions::default()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
}

#[test]
fn a_million_pages_are_not_stored() {
    let site = site(SiteOptions { pages: 1_000_000, ..SiteOptions::default() });
    let mut client = Client::connect(site.address());
    assert_eq!(client.get("/page/999999").status, 200);
    assert_eq!(client.get("/page/1000000").status, 404);
    assert_eq!(site.all_hits().len(), 2);
}
