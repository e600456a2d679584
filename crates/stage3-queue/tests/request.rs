//! What the crawler says to a server, and to which one.
#![allow(clippy::unwrap_used, missing_docs)]

mod program;

use std::sync::{Arc, Mutex};

use demo_site::scripted::Server;
use program::run;

const FLAGS: [&str; 6] = ["-H", "X-Token: secret", "--header", "Accept: */*", "-u", "me:pass:word"];

/// A site that notes down what is said to it, and redirects `/away`.
fn listening(away: String) -> (Server, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&heard);
    let site = Server::start(move |request, reply| {
        let head = ["x-token", "accept", "authorization"]
            .map(|name| request.header(name).unwrap_or("-").to_owned());
        notes.lock().unwrap().push(format!("{} {}", request.path(), head.join(" ")));
        match request.path() {
            "/" => reply.page("<a href=/away>away</a>"),
            "/away" => reply.status(302, "Found", &[("Location", &away)], ""),
            _ => reply.page(""),
        }
    });
    (site.unwrap(), heard)
}

#[test]
fn headers_go_to_the_hosts_of_the_roots_and_nowhere_else() {
    let (other, heard_by_other) = listening(String::new());
    // Another name for the same machine, and another site.
    let elsewhere = format!("http://localhost:{}/there", other.address().port());
    let (site, heard) = listening(elsewhere);
    let root = site.url("/");
    run(&[&["--external", &root], &FLAGS[..]].concat()).expect_code(0);
    let said = "secret */* Basic bWU6cGFzczp3b3Jk";
    assert_eq!(*heard.lock().unwrap(), [format!("/ {said}"), format!("/away {said}")]);
    for line in &*heard_by_other.lock().unwrap() {
        assert!(!line.contains("secret") && !line.contains("Basic"), "{line}");
    }
}

/// What listens at another port may be somebody else's.
#[test]
fn another_port_of_the_host_is_another_place() {
    let (other, heard_by_other) = listening(String::new());
    let (site, heard) = listening(other.url("/there"));
    let output = run(&[&["--external", &site.url("/")], &FLAGS[..]].concat());
    assert_eq!(output.status.code(), Some(0));
    assert!(heard.lock().unwrap().iter().all(|line| line.contains("secret")), "{heard:?}");
    let heard_by_other = heard_by_other.lock().unwrap();
    assert!(!heard_by_other.is_empty());
    for line in &*heard_by_other {
        assert!(!line.contains("secret") && !line.contains("Basic"), "{line}");
    }
}
