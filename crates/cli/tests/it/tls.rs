//! TLS trust on the command line, tested with the binary of stage 0.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Arc, LazyLock};

use demo_site::scripted::Server;
use rustls::{ServerConnection, StreamOwned};
use test_support::authority::Authority;
use test_support::programs::program;

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| program("stage0-threads"));

static ROOT: LazyLock<Authority> = LazyLock::new(|| Authority::new("Root"));

/// Starts an https site of one page, and returns its URL, too.
fn secure_site() -> (Server, String) {
    let config = Arc::new(ROOT.issue(&["127.0.0.1"]).server());
    let server = Server::start_raw(move |stream, _| {
        let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = StreamOwned::new(tls, stream);
        let page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n";
        // A client that does not trust the certificate has closed the connection.
        if stream.read(&mut [0; 4096]).is_ok() {
            let _ = stream.write_all(page);
        }
    })
    .unwrap();
    let url = format!("https://{}/", server.address());
    (server, url)
}

/// A temporary folder, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("command-line-tls-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs the binary with `roots` as the system's trust roots, or with the real ones.
fn run(arguments: &[&str], roots: Option<&str>) -> Output {
    let mut command = Command::new(&*PROGRAM);
    if let Some(roots) = roots {
        command.env_remove("SSL_CERT_DIR").env("SSL_CERT_FILE", roots);
    }
    command.args(["--max-tries", "1", "--timeout", "10"]).args(arguments).output().unwrap()
}

#[test]
fn trust_comes_from_cacert_insecure_or_the_system() {
    let folder = Folder::new("trust");
    let root = folder.file("root.pem", &ROOT.pem());
    let other = folder.file("other.pem", &Authority::new("Other").pem());
    let (_server, url) = secure_site();
    let code = |arguments: &[&str], roots| {
        let output = run(&[arguments, &[&url]].concat(), roots);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(code(&["--cacert", &root], None).0, Some(0));
    assert_eq!(code(&["--cacert", &other, "--cacert", &root], None).0, Some(0));
    assert_eq!(code(&["--insecure"], None).0, Some(0));
    assert_eq!(code(&["-k"], None).0, Some(0));
    assert_eq!(code(&[], Some(&root)).0, Some(0), "the system trusts it");
    for (arguments, roots) in [(&[][..], None), (&["--cacert", &other], None), (&[], Some(&other))]
    {
        let (code, report) = code(arguments, roots.map(String::as_str));
        assert_eq!(code, Some(3), "{arguments:?}: the only root has failed");
        assert!(report.contains(" - error TLS: "), "{report}");
        assert!(report.contains("--cacert"), "{report}");
    }
}

#[test]
fn a_report_does_not_replace_the_certificates() {
    let folder = Folder::new("report");
    let file = folder.file("root.pem", &ROOT.pem());
    let output = run(&["--cacert", &file, "-o", &file, "http://127.0.0.1:1/"], None);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("--output and --cacert are the same file"), "{message}");
    assert_eq!(fs::read_to_string(file).unwrap(), ROOT.pem());
}

/// A missing file in `SSL_CERT_FILE` is an error: no other trust roots are used.
#[test]
fn a_missing_ssl_cert_file_is_an_error() {
    let (server, url) = secure_site();
    let output = run(&[&url], Some("/no/such/file"));
    assert_eq!(output.status.code(), Some(3));
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(report.contains("SSL_CERT_FILE"), "{report}");
    assert_eq!(server.connections(), 0, "found out before a packet was sent");
}

#[test]
fn a_bad_certificate_file_is_bad_usage() {
    let folder = Folder::new("bad");
    let empty = folder.file("empty.pem", "");
    let damaged = folder.file("damaged.pem", &ROOT.pem().replace("MII", "AII"));
    let missing = folder.0.join("missing.pem").to_str().unwrap().to_owned();
    let directory = folder.0.to_str().unwrap();
    for (file, why) in [
        (empty.as_str(), "no certificate"),
        (&damaged, "certificate 1"),
        (&missing, "No such file"),
        (directory, "directory"),
    ] {
        let output = run(&["--cacert", file, "http://localhost/"], None);
        assert_eq!(output.status.code(), Some(2), "{file}");
        let message = String::from_utf8(output.stderr).unwrap();
        for word in ["--cacert", file, why] {
            assert!(message.contains(word), "{word}: {message}");
        }
    }
}
