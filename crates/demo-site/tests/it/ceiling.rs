//! Tests of the load generator, with good and with bad servers.

use std::io::ErrorKind;

use demo_site::ceiling::measure;
use demo_site::scripted::Server;
use demo_site::{DemoSite, SiteOptions};

#[test]
fn every_request_is_made_and_counted() {
    for (page_size, connections, requests) in
        [(1024, 1, 100), (1024, 50, 3000), (300_000, 3, 30), (0, 10, 5)]
    {
        let site = DemoSite::start(SiteOptions { page_size, ..SiteOptions::default() }).unwrap();
        let ceiling = measure(site.address(), "/page/1", connections, requests).unwrap();
        assert_eq!((ceiling.requests, ceiling.connections), (requests, connections));
        assert!(ceiling.response_size > page_size);
        assert!(ceiling.requests_per_second > 0.0);
        // One more request was needed for the size of the response.
        assert_eq!(site.hits("/page/1"), requests + 1);
        assert_eq!(site.connections(), connections as u64 + 1);
    }
}

#[test]
fn a_server_without_a_complete_200_response_is_refused() {
    let server = Server::start(|request, reply| match request.path() {
        "/unframed" => {
            reply.send("HTTP/1.1 200 OK\r\n\r\n");
            reply.close();
        }
        "/huge" => reply.send("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n"),
        "/silent" => reply.close(),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let kind = |path, connections| {
        let measured = measure(server.address(), path, connections, 10);
        measured.unwrap_err().kind()
    };
    assert_eq!(kind("/", 0), ErrorKind::InvalidInput);
    assert_eq!(kind("/unframed", 1), ErrorKind::InvalidData);
    assert_eq!(kind("/huge", 1), ErrorKind::InvalidData);
    assert_eq!(kind("/nowhere", 1), ErrorKind::InvalidData);
    assert_eq!(kind("/silent", 1), ErrorKind::UnexpectedEof);
}

#[test]
fn a_longer_response_or_a_closed_connection_is_an_error() {
    for (path, kind) in
        [("/differs", ErrorKind::InvalidData), ("/closes", ErrorKind::UnexpectedEof)]
    {
        let server = Server::start(|request, reply| match request.path() {
            _ if request.connection == 1 => reply.page(""),
            // Longer even if its head arrives alone.
            "/differs" => reply.page("longer".repeat(1000)),
            _ => reply.close(),
        })
        .unwrap();
        let measured = measure(server.address(), path, 2, 10);
        assert_eq!(measured.unwrap_err().kind(), kind);
    }
}
