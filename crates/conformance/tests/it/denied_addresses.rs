//! Addresses that a site must not lead to: those of cloud metadata, link-local ones and,
//! on request, private ones. Whatever names them, they are a row and no request.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crawl_core::{ErrorClass, ScopeRule};
use transport::LookupFn;

use crate::common::{Stage, links, options, page, serve, skipped};

/// The names of a site and their addresses. The site itself is on loopback, which is
/// therefore permitted.
const NAMES: [(&str, &[&str]); 9] = [
    ("root.test", &["127.0.0.1"]),
    ("metadata.root.test", &["169.254.169.254"]),
    ("metadata6.root.test", &["fd00:ec2::254", "::ffff:169.254.169.254"]),
    ("alibaba.root.test", &["100.100.100.200"]),
    ("link-local.root.test", &["169.254.7.7", "fe80::1"]),
    ("nat64.root.test", &["64:ff9b::169.254.169.254"]),
    ("private.root.test", &["10.0.0.1", "192.168.0.1", "fd12:3456::1"]),
    ("mapped.root.test", &["::ffff:172.16.0.1", "64:ff9b::100.64.0.1"]),
    // One of them may be asked.
    ("mixed.root.test", &["169.254.169.254", "127.0.0.1"]),
];

/// Those that are denied in any case, and those that are with `--deny-private`.
const ALWAYS: [&str; 5] = ["metadata", "metadata6", "alibaba", "link-local", "nat64"];
const PRIVATE: [&str; 2] = ["private", "mapped"];

/// Returns a lookup of [`NAMES`].
fn lookup() -> Arc<LookupFn> {
    Arc::new(|name: &str, port| {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        let (_, addresses) = found.ok_or_else(|| io::Error::other("no such name"))?;
        let parse = |ip: &&str| SocketAddr::new(ip.parse().unwrap(), port);
        Ok(addresses.iter().map(parse).collect())
    })
}

/// A site on loopback links to names, and redirects to them. No connection is tried to
/// an address that is denied: such a one takes a second here.
#[test]
fn what_a_site_leads_to_is_denied_by_its_address() {
    for stage in Stage::ALL {
        for deny_private in [false, true] {
            let site = serve(|request, reply| {
                let (_, port) = request.header("host").unwrap().rsplit_once(':').unwrap();
                let url = |name: &str, path| format!("http://{name}.root.test:{port}/{path}");
                match request.path() {
                    "/" => {
                        let denied = ALWAYS.iter().chain(&PRIVATE).map(|name| url(name, "link"));
                        let moved = ALWAYS.iter().map(|name| format!("/to/{name}"));
                        reply.page(links(denied.chain(moved).chain([url("mixed", "fine")])));
                    }
                    "/fine" => reply.page(""),
                    path => {
                        let target = url(path.trim_start_matches("/to/"), "redirected");
                        reply.status(302, "Found", &[("Location", &target)], "");
                    }
                }
            });
            let port = site.address().port();
            let root = format!("http://root.test:{port}/");
            let mut options = options(&root);
            options.settings.scope = ScopeRule::Lenient;
            options.settings.deny_private = deny_private;
            options.settings.connect_timeout = Duration::from_secs(10);
            // Of those that are allowed, nothing is to be asked on a real network.
            if !deny_private {
                options.settings.exclude = vec!["//(private|mapped)".parse().unwrap()];
            }
            let begun = Instant::now();
            let crawled = stage.crawl_with_lookup(lookup(), options);
            let elapsed = begun.elapsed();
            let url = |name: &str, path: &str| format!("http://{name}.root.test:{port}/{path}");
            let denied = || skipped(ErrorClass::DeniedAddress);
            for name in ALWAYS {
                for path in ["link", "redirected"] {
                    let row = crawled.row(&url(name, path));
                    assert_eq!(crawled.comparable(row), denied(), "{stage:?}: {row:?}");
                    let message = &row.error.as_ref().unwrap().message;
                    assert!(message.contains("is "), "{stage:?}: {message}");
                }
            }
            for name in PRIVATE.iter().filter(|_| deny_private) {
                let row = crawled.row(&url(name, "link"));
                assert_eq!(crawled.comparable(row), denied(), "{stage:?}: {row:?}");
            }
            let fine = crawled.row(&url("mixed", "fine"));
            assert_eq!(crawled.comparable(fine), page("", 0), "{stage:?}");
            assert!(elapsed < Duration::from_secs(5), "{stage:?}: {elapsed:?}");
            assert_eq!(crawled.summary.todo, 0, "{stage:?}");
        }
    }
}

/// A name whose answer changes, from the address of the site to one that is denied (DNS
/// rebinding): each connection is to an address that has passed the policy. Another port
/// has an answer of its own in the cache.
#[test]
fn a_second_answer_passes_the_policy_as_well() {
    for stage in Stage::ALL {
        let answers = AtomicUsize::new(0);
        let lookup = Arc::new(move |name: &str, port| {
            assert_eq!(name, "root.test");
            let ip = match answers.fetch_add(1, Ordering::SeqCst) {
                0 => [127, 0, 0, 1],
                _ => [192, 168, 77, 7],
            };
            Ok(vec![(ip, port).into()])
        });
        let site = serve(|_, reply| reply.page(links(["http://root.test:2/"])));
        let mut options = options(format!("http://root.test:{}/", site.address().port()));
        options.settings.scope = ScopeRule::Lenient;
        options.settings.deny_private = true;
        let crawled = stage.crawl_with_lookup(lookup, options);
        let html = links(["http://root.test:2/"]);
        crawled.expect([
            ("/", page(html, 1)),
            ("http://root.test:2/", skipped(ErrorClass::DeniedAddress)),
        ]);
    }
}
