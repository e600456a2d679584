//! The limit on file descriptors: reaching it is no error while the crawl holds
//! descriptors of its own.

use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crawl_core::{ErrorClass, Outcome, Row};
use demo_site::Latency;
use selector_core::{Key, Socket};

use crate::common::tls::{ROOT_CA, serve_tls, valid_server_config};
use crate::common::{
    CountedSocket, Interceptor, Stage, demo_site, links, options, options_for, serve,
};

const PAGES: u32 = 300;
/// The limit of the crawling process, which has more tasks than that.
const DESCRIPTORS: usize = 64;
const MAX_TASKS: usize = 200;
/// The environment variable with the root that the child process crawls.
const ROOT_VARIABLE: &str = "REPLAY_TEST_ROOT";

/// Two hundred tasks share the few descriptors of a process. No fetch fails, is
/// tried again or waits forever.
#[test]
fn few_descriptors_are_enough() {
    let site = demo_site(PAGES, |site| {
        site.latency = Latency::Fixed(Duration::from_millis(20));
    });
    // The limit belongs to a process, so the crawls run in another one.
    let output = Command::new("sh")
        .args([
            "-c",
            "ulimit -S -n \"$1\" && exec \"$0\" --exact --ignored fd_limit::crawl_with_few",
        ])
        .arg(env::current_exe().unwrap())
        .arg(DESCRIPTORS.to_string())
        .env(ROOT_VARIABLE, site.root())
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}");
    assert!(stdout.contains("1 passed"), "{stdout}");
    let stages = Stage::ALL.len() as u64;
    assert_eq!(site.requests(), stages * u64::from(PAGES));
    let peak = site.peak_in_flight();
    assert!(peak < DESCRIPTORS, "{peak} connections");
    assert!(peak > DESCRIPTORS / 2, "only {peak} connections");
}

#[test]
#[ignore = "runs in the child process of the test above"]
fn crawl_with_few() {
    // Without the variable this was not started by the test above, which counts
    // the requests.
    let Ok(root) = env::var(ROOT_VARIABLE) else { return };
    for stage in Stage::ALL {
        let mut options = options(&root);
        options.max_tasks = Some(MAX_TASKS);
        let crawled = stage.crawl(options);
        assert_eq!(crawled.rows().len(), PAGES as usize, "{stage:?}");
        for row in crawled.rows().values() {
            assert_eq!((row.outcome, row.tries), (Outcome::Page, 1), "{row:?}");
        }
        // More fetches were in flight than there were descriptors.
        assert!(crawled.summary.peak_in_flight > DESCRIPTORS as u64, "{stage:?}");
    }
}

/// The number of refusals while the crawl itself holds no connection.
const REFUSALS: usize = 5;

/// An interceptor that lets a few connections be made and then simulates that
/// another program holds all descriptors. It refuses connections until it has
/// refused [`REFUSALS`] while the crawl had none open.
struct FdExhaustion {
    connections: usize,
    refusals: usize,
    open: Arc<()>,
}

impl Interceptor for FdExhaustion {
    fn connect(&mut self, socket: Socket, _key: Key) -> io::Result<Socket> {
        const GRANTED_FIRST: usize = 4;
        const EMFILE: i32 = 24;
        if self.connections >= GRANTED_FIRST && self.refusals < REFUSALS {
            let is_any_open = Arc::strong_count(&self.open) > 1;
            self.refusals += usize::from(!is_any_open);
            return Err(io::Error::from_raw_os_error(EMFILE));
        }
        self.connections += 1;
        Ok(Socket::custom(CountedSocket::new(socket, &self.open)))
    }
}

/// If another program has taken all descriptors and the crawl holds none, there
/// is nothing to wait for. The fetch fails, and has to wake the next waiter.
#[test]
fn a_fetch_without_any_descriptor_fails() {
    const PAGES: usize = 30;
    let paths = || (0..PAGES).map(|n| format!("/{n}"));
    for stage in Stage::ON_A_LOOP {
        let site = serve(move |request, reply| match request.path() {
            "/" => reply.page(links(paths())),
            _ => reply.page(""),
        });
        let mut options = options(site.url("/"));
        options.max_tasks = Some(PAGES);
        let interceptor = FdExhaustion { connections: 0, refusals: 0, open: Arc::new(()) };
        let (crawled, _) = stage.crawl_with_interceptor(interceptor, options);
        assert_eq!(crawled.rows().len(), 1 + PAGES, "{stage:?}");
        let (failed, fine): (Vec<_>, Vec<_>) =
            crawled.rows().values().partition(|row| row.outcome == Outcome::Failed);
        assert!(fine.iter().all(|row| row.outcome == Outcome::Page), "{fine:?}");
        let class = |row: &Row| row.error.as_ref().unwrap().class;
        assert!(failed.iter().all(|row| class(row) == ErrorClass::Connect), "{failed:?}");
        assert_eq!(failed.len(), REFUSALS, "{stage:?}");
    }
}

/// The environment variables with what the child process of one stage crawls.
const STAGE_VARIABLE: &str = "REPLAY_TEST_STAGE";
const LAST_VARIABLE: &str = "REPLAY_TEST_LAST";

/// All descriptors are in use when a name is looked up, and when the certificates that
/// are trusted are read for the first time. Neither says anything about the name or
/// about the certificate of a server. Each stage has a process of its own, since the
/// certificates are read once.
#[test]
fn names_and_certificates_wait_for_descriptors() {
    let slow = serve(|_, reply| {
        thread::sleep(Duration::from_millis(300));
        reply.page("");
    });
    let named = serve(|_, reply| reply.page(""));
    let secure = serve_tls(valid_server_config(), |_, connection| connection.page(""));
    let folder = env::temp_dir().join(format!("conformance-fd-limit-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let root_ca = folder.join("root.pem");
    fs::write(&root_ca, ROOT_CA.pem()).unwrap();
    let by_name = format!("http://localhost:{}/", named.address().port());
    let lasts = [by_name, secure.url("/"), secure.url("/").replace("127.0.0.1", "localhost")];
    let (slow_root, root_ca) = (&slow.url("/"), &root_ca);
    thread::scope(|scope| {
        for stage in Stage::ALL {
            for last in &lasts {
                scope.spawn(move || crawl_in_a_child(stage, slow_root, last, root_ca));
            }
        }
    });
    assert_eq!(named.requests(), Stage::ALL.len() as u64);
    fs::remove_dir_all(folder).unwrap();
}

/// Crawls the pages of a slow server and this last URL in a process with few descriptors.
fn crawl_in_a_child(stage: Stage, slow: &str, last: &str, root_ca: &Path) {
    let begun = Instant::now();
    let output = Command::new("sh")
        .args(["-c", "ulimit -S -n 24 && exec \"$0\" --exact --ignored \"$1\""])
        .arg(env::current_exe().unwrap())
        .arg("fd_limit::crawl_a_name_with_few")
        .env(ROOT_VARIABLE, slow)
        .env(LAST_VARIABLE, last)
        .env(STAGE_VARIABLE, format!("{stage:?}"))
        .env("SSL_CERT_FILE", root_ca)
        .env_remove("SSL_CERT_DIR")
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stage:?} {last}: {stdout}{stderr}");
    assert!(stdout.contains("1 passed"), "{stage:?}: {stdout}");
    assert!(begun.elapsed() < Duration::from_secs(15), "{stage:?}: {:?}", begun.elapsed());
}

#[test]
#[ignore = "runs in the child processes of the test above"]
fn crawl_a_name_with_few() {
    const SLOW: usize = 60;
    let (Ok(slow), Ok(last), Ok(stage)) =
        (env::var(ROOT_VARIABLE), env::var(LAST_VARIABLE), env::var(STAGE_VARIABLE))
    else {
        return;
    };
    let stage = Stage::ALL.into_iter().find(|known| format!("{known:?}") == stage).unwrap();
    let roots: Vec<String> =
        (0..SLOW).map(|n| format!("{slow}{n}")).chain([last.clone()]).collect();
    let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
    let mut options = options_for(&roots);
    options.max_tasks = Some(roots.len());
    let crawled = stage.crawl(options);
    assert_eq!(crawled.rows().len(), roots.len(), "{stage:?}");
    for row in crawled.rows().values() {
        assert_eq!((row.outcome, row.tries), (Outcome::Page, 1), "{stage:?}: {row:?}");
    }
}
