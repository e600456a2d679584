//! The request headers of the crawler, and the servers that get them.

use std::sync::{Arc, Mutex};

use demo_site::scripted::Server;

use crate::program::{Running, program, rows, run};

const FLAGS: [&str; 6] = ["-H", "X-Token: secret", "--header", "Accept: */*", "-u", "me:pass:word"];

/// Starts a site that records the headers it receives, and redirects `/away`.
fn recording_site(away: String) -> (Server, Arc<Mutex<Vec<String>>>) {
    let received = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&received);
    let site = Server::start(move |request, reply| {
        let head = ["x-token", "accept", "authorization"]
            .map(|name| request.header(name).unwrap_or("-").to_owned());
        log.lock().unwrap().push(format!("{} {}", request.path(), head.join(" ")));
        match request.path() {
            "/" => reply.page("<a href=/away>away</a>"),
            "/away" => reply.status(302, "Found", &[("Location", &away)], ""),
            _ => reply.page(""),
        }
    });
    (site.unwrap(), received)
}

#[test]
fn headers_go_to_the_hosts_of_the_roots_only() {
    let (other, received_by_other) = recording_site(String::new());
    // Another name for the same machine is another site.
    let away = format!("http://localhost:{}/there", other.address().port());
    let (site, received) = recording_site(away);
    let root = site.url("/");
    run(&[&["--external", &root], &FLAGS[..]].concat()).expect_code(0);
    let sent = "secret */* Basic bWU6cGFzczp3b3Jk";
    assert_eq!(*received.lock().unwrap(), [format!("/ {sent}"), format!("/away {sent}")]);
    for line in &*received_by_other.lock().unwrap() {
        assert!(!line.contains("secret") && !line.contains("Basic"), "{line}");
    }
}

/// A server on another port may belong to another user.
#[test]
fn headers_do_not_go_to_another_port_of_the_host() {
    let (other, received_by_other) = recording_site(String::new());
    let (site, received) = recording_site(other.url("/there"));
    let output = run(&[&["--external", &site.url("/")], &FLAGS[..]].concat());
    assert_eq!(output.status.code(), Some(0));
    assert!(received.lock().unwrap().iter().all(|line| line.contains("secret")), "{received:?}");
    let received_by_other = received_by_other.lock().unwrap();
    assert!(!received_by_other.is_empty());
    for line in &*received_by_other {
        assert!(!line.contains("secret") && !line.contains("Basic"), "{line}");
    }
}

/// That a host has no address is said once, and without what is the same for each URL.
#[test]
fn a_host_without_an_address_has_a_short_message() {
    // A name with such a long label is asked of no name server.
    let host = format!("{}.test", "x".repeat(64));
    let arguments = ["--max-tries", "1", "--format", "jsonl", &host];
    let output = Running::start(program(&arguments)).wait().expect_code(3);
    let row = rows(&output.stdout).into_values().next().unwrap();
    let message = row["error"]["message"].as_str().unwrap();
    assert!(message.starts_with(&format!("no address for {host}: ")), "{message}");
    for noise in ["robots.txt", "failed to lookup"] {
        assert!(!message.contains(noise), "{message}");
    }
}
