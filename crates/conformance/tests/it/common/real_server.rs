//! Real server programs, such as nginx, and tables of the rows they lead to.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use std::{env, fs};

use crawl_core::{Outcome, Row};
use test_support::free_port;

use super::Crawled;
use super::tls::ROOT_CA;

/// A server process with a folder of its own. Dropping it ends the process and
/// removes the folder.
pub struct RealServer {
    process: Child,
    pub folder: PathBuf,
    pub port: u16,
    pub secure_port: u16,
}

impl RealServer {
    /// Starts the program that `command` returns for a folder and two ports to
    /// listen on, and waits until the program accepts on the first of them. The
    /// folder has a certificate issued under [`ROOT_CA`]: `chain.pem` and
    /// `key.pem`.
    pub fn start(command: impl FnOnce(&Path, u16, u16) -> Command) -> Self {
        let [port, secure_port] = [free_port(), free_port()];
        let folder = env::temp_dir().join(format!("real-peer-{}-{port}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let intermediate = ROOT_CA.intermediate("Intermediate");
        let identity = intermediate.issue(&["127.0.0.1"]).with(&intermediate);
        fs::write(folder.join("chain.pem"), identity.chain_pem()).unwrap();
        fs::write(folder.join("key.pem"), identity.key_pem()).unwrap();
        // Servers are installed in sbin, which is not on every user's path.
        let path = env::var("PATH").unwrap_or_default();
        let process = command(&folder, port, secure_port)
            .env("PATH", format!("{path}:/usr/sbin:/usr/local/sbin"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.join("stderr")).unwrap())
            .spawn()
            .unwrap();
        let server = Self { process, folder, port, secure_port };
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "it does not start: {}", server.read("stderr"));
            sleep(Duration::from_millis(20));
        }
        server
    }

    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn secure_origin(&self) -> String {
        format!("https://127.0.0.1:{}", self.secure_port)
    }

    /// Reads a file of the folder, such as a log.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap()
    }

    /// Reads the `access.log` of nginx when it is whole, or after ten seconds: nginx logs a
    /// request after it has sent the response.
    pub fn access_log(&self, is_whole: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let log = self.read("access.log");
            if is_whole(&log) || Instant::now() > deadline {
                return log;
            }
            sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        // Asked to end before it is killed: only it can end its own child
        // processes.
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let deadline = Instant::now() + Duration::from_secs(5);
        while matches!(self.process.try_wait(), Ok(None)) && Instant::now() < deadline {
            sleep(Duration::from_millis(10));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        if thread::panicking() {
            let stderr = fs::read_to_string(self.folder.join("stderr")).unwrap_or_default();
            println!("what the server had to say: {stderr}");
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Fails unless the crawl has the rows of this table and no others. Each line
/// of the table is a path, an outcome, and
///
/// ```text
/// page        status, size, number of links
/// other       status, type, size
/// redirect    status, target
/// http_error  status
/// failed      class
/// ```
/// where `*` stands for anything, and `ORIGIN` for scheme, host and port.
#[track_caller]
pub fn expect_table(crawled: &Crawled, origin: &str, table: &str) {
    let mut expected = BTreeMap::new();
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut columns = line.split_whitespace();
        let path = columns.next().unwrap();
        let columns: Vec<String> = columns.map(|text| text.replace("ORIGIN", origin)).collect();
        assert!(expected.insert(format!("{origin}{path}"), columns).is_none(), "twice: {line}");
    }
    let mut differences = String::new();
    let urls: BTreeSet<&String> = crawled.rows().keys().chain(expected.keys()).collect();
    for url in urls {
        let actual = crawled.rows().get(url).map(columns);
        let expected = expected.get(url);
        let is_same = actual.as_ref().zip(expected).is_some_and(|(actual, expected)| {
            let is_same =
                |(text, expected): (&String, &String)| expected == "*" || text == expected;
            actual.len() == expected.len() && actual.iter().zip(expected).all(is_same)
        });
        if !is_same {
            differences += &format!("{url}\n  expected {expected:?}\n  found    {actual:?}\n");
        }
    }
    assert!(differences.is_empty(), "{:?}:\n{differences}", crawled.stage);
}

/// Returns the columns of a row in a table, after its path.
fn columns(row: &Row) -> Vec<String> {
    let status = row.status.map_or("-".into(), |status| status.to_string());
    let size = row.size.map_or("-".into(), |size| size.to_string());
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
    match row.outcome {
        Outcome::Page => vec!["page".into(), status, size, row.num_urls.to_string()],
        Outcome::Other => vec!["other".into(), status, text(&row.content_type), size],
        Outcome::Redirect => vec!["redirect".into(), status, text(&row.next_url)],
        Outcome::HttpError => vec!["http_error".into(), status],
        Outcome::Failed | Outcome::Skipped => {
            let class = row.error.as_ref().map_or("-", |error| error.class.name());
            vec!["failed".into(), class.into()]
        }
    }
}
