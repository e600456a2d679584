//! Crawls through proxies: scripted ones, and such as other people wrote.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, thread};

use demo_site::scripted::Server;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use test_support::authority::Authority;
use test_support::free_port;

use crate::program::{ProgramOutput, Running, Scratch, program, rows, wait_until};

/// A password, and the same in the header of an HTTP proxy.
const SECRETS: [&str; 2] = ["s3cret", "bWU6czNjcmV0"];

/// Runs the program with a proxy, and expects that it never shows the password.
#[track_caller]
fn run_through(proxy: &str, arguments: &[&str]) -> ProgramOutput {
    let flags = ["--no-robots", "-vv", "--format", "jsonl", "--max-tries", "1", "--proxy", proxy];
    let output = Running::start(program(&[&flags[..], arguments].concat())).wait();
    for secret in SECRETS {
        assert!(!output.stdout.contains(secret), "{}", output.stdout);
        assert!(!output.stderr.contains(secret), "{}", output.stderr);
    }
    output
}

/// Returns the URL and the outcome of each row.
fn outcomes(output: &ProgramOutput) -> Vec<(String, Value)> {
    let rows = rows(&output.stdout).into_iter();
    rows.map(|(url, row)| (url, row["outcome"].clone())).collect()
}

/// Returns the row of the only URL.
fn row(output: &ProgramOutput) -> Value {
    let mut rows = rows(&output.stdout).into_values();
    let row = rows.next().expect("there is a row");
    assert!(rows.next().is_none(), "{}", output.stdout);
    row
}

/// An HTTP proxy for http makes the requests itself: it gets whole URLs, and the name of
/// a server that only it can look up.
#[test]
fn a_page_without_tls_is_asked_with_its_whole_url() {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&requests);
    let links = "<a href=/a?b>a</a><a href=http://you:there@other.test:8080/>other</a>";
    let proxy = Server::start_raw(move |stream, _| {
        serve(stream, links, |head| {
            let wanted = |line: &&str| line.contains("HTTP/1.1") || line.contains("uthorization");
            log.lock().unwrap().push(head.lines().filter(wanted).collect::<Vec<_>>().join("; "));
        });
    });
    let proxy = proxy.unwrap();
    let url = format!("http://me:s3cret@{}", proxy.address());
    let output = run_through(&url, &["-j", "1", "--external", "http://site.test/"]).expect_code(0);
    let row = |url: &str, outcome: &str| (url.to_owned(), Value::from(outcome));
    let expected = [
        row("http://other.test:8080/", "other"),
        row("http://site.test/", "page"),
        row("http://site.test/a?b", "page"),
    ];
    assert_eq!(outcomes(&output), expected);
    let mut requests = requests.lock().unwrap();
    requests.sort();
    requests.dedup();
    let credentials = "HTTP/1.1; Proxy-Authorization: Basic bWU6czNjcmV0";
    let expected = [
        format!("GET http://other.test:8080/ {credentials}"),
        format!("GET http://site.test/ {credentials}"),
        format!("GET http://site.test/a?b {credentials}"),
        format!("HEAD http://other.test:8080/ {credentials}"),
    ];
    let is_asked = |request: &String| expected.contains(request);
    assert!(requests.iter().all(is_asked) && requests.len() >= 3, "{requests:?}");
    assert_eq!(proxy.connections(), 2, "connections are kept, one for each server");
}

/// The connections without a proxy have all descriptors, and a request that needs a proxy
/// waits for one of them.
#[test]
fn connections_with_and_without_a_proxy_share_the_descriptors() {
    let proxy = Server::start(|_, reply| reply.page("")).unwrap();
    let site = Server::start(|request, reply| {
        let slow = (0..60).map(|n| format!("<a href=/{n}>x</a>")).collect::<String>();
        match request.path() {
            "/" => reply.page(slow + "<a href=http://site.test/>x</a>"),
            _ => {
                thread::sleep(Duration::from_millis(50));
                reply.page("");
            }
        }
    })
    .unwrap();
    let flags = ["--no-robots", "--external", "--max-tries", "1", "-j", "100", "--format", "jsonl"];
    let crawl = program(&[&flags[..], &[&*site.url("/")]].concat());
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 24 && exec \"$0\" \"$@\""]).arg(crawl.get_program());
    command.args(crawl.get_args()).env("http_proxy", proxy.url("")).env("no_proxy", "127.0.0.1");
    let output = Running::start(command).wait().expect_code(0);
    assert_eq!(outcomes(&output).len(), 62);
    assert!(proxy.requests() > 0);
}

/// Reads until the end of a head, and returns its text.
fn read_head(stream: &mut impl Read) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// A link to another page.
const NEXT: &str = "<a href=/next>next</a>";

/// Answers the requests on a connection with a page, and hands their heads to `log`.
fn serve(mut stream: impl Read + Write, page: &str, log: impl Fn(&str)) {
    loop {
        let request = read_head(&mut stream);
        if request.is_empty() {
            return;
        }
        log(&request);
        let page = if request.starts_with("HEAD") { "" } else { page };
        let head = format!("Content-Type: text/html\r\nContent-Length: {}", page.len());
        if write!(stream, "HTTP/1.1 200 OK\r\n{head}\r\n\r\n{page}").is_err() {
            return;
        }
    }
}

fn serve_secure(config: &Arc<ServerConfig>, stream: &mut TcpStream) {
    let session = ServerConnection::new(Arc::clone(config)).unwrap();
    serve(StreamOwned::new(session, stream), NEXT, |_| ());
}

/// The certificate of site.test, and the file of its authority.
fn certificate() -> (Arc<ServerConfig>, Scratch) {
    let (authority, file) = (Authority::new("Root"), Scratch::new());
    fs::write(file.as_str(), authority.pem()).unwrap();
    (Arc::new(authority.issue(&["site.test"]).server()), file)
}

#[test]
fn a_page_with_tls_is_asked_through_a_tunnel() {
    let (config, authority) = certificate();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heads);
    let proxy = Server::start_raw(move |stream, _| {
        log.lock().unwrap().push(read_head(stream));
        // In pieces, and with headers that mean nothing here (RFC 9110, section 9.3.6).
        for piece in ["HTTP/1.1 200 Connection est", "ablished\r\nContent-Length: 9\r\n", "\r\n"] {
            let _ = stream.write_all(piece.as_bytes());
            thread::sleep(Duration::from_millis(5));
        }
        serve_secure(&config, stream);
    });
    let proxy = format!("me:s3cret@{}", proxy.as_ref().unwrap().address());
    let arguments = ["-j", "1", "--cacert", authority.as_str(), "https://site.test/"];
    let output = run_through(&proxy, &arguments).expect_code(0);
    assert_eq!(rows(&output.stdout).len(), 2, "{}", output.stdout);
    let head = "CONNECT site.test:443 HTTP/1.1\r\nHost: site.test:443\r\n\
                Proxy-Authorization: Basic bWU6czNjcmV0\r\n\r\n";
    assert_eq!(*heads.lock().unwrap(), [head], "the tunnel is kept");
}

/// A proxy with TLS: its certificate is checked like that of a site, and the TLS of a
/// site is within that of the proxy.
#[test]
fn a_proxy_may_have_tls_itself() {
    let (authority, file) = (Authority::new("Root"), Scratch::new());
    fs::write(file.as_str(), authority.pem()).unwrap();
    let of_proxy = Arc::new(authority.issue(&["127.0.0.1"]).server());
    let of_site = Arc::new(authority.issue(&["site.test"]).server());
    let heads = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heads);
    let large = "x".repeat(300_000);
    let proxy = Server::start_raw(move |stream, _| {
        let session = ServerConnection::new(Arc::clone(&of_proxy)).unwrap();
        let mut outer = StreamOwned::new(session, stream);
        let first = |head: &str| head.lines().next().unwrap_or_default().to_owned();
        let page = format!("<a href=/next>next</a>{large}");
        loop {
            let head = read_head(&mut outer);
            let is_tunnel = head.starts_with("CONNECT");
            if head.is_empty() {
                return;
            }
            log.lock().unwrap().push((first(&head), head.contains(SECRETS[1])));
            if is_tunnel {
                let _ = outer.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n");
                let session = ServerConnection::new(Arc::clone(&of_site)).unwrap();
                return serve(StreamOwned::new(session, outer), &page, |_| ());
            }
            let length = page.len();
            let head = format!("Content-Type: text/html\r\nContent-Length: {length}");
            let _ = write!(outer, "HTTP/1.1 200 OK\r\n{head}\r\n\r\n{page}");
        }
    });
    let proxy = format!("https://me:s3cret@{}", proxy.as_ref().unwrap().address());
    for (root, expected) in [
        (
            "http://site.test/",
            &["GET http://site.test/ HTTP/1.1", "GET http://site.test/next HTTP/1.1"][..],
        ),
        ("https://site.test/", &["CONNECT site.test:443 HTTP/1.1"]),
    ] {
        let record = Scratch::new();
        let arguments = ["-j", "1", "--cacert", file.as_str(), "--record", record.as_str(), root];
        let output = run_through(&proxy, &arguments).expect_code(0);
        let sizes: Vec<_> =
            rows(&output.stdout).into_values().map(|row| row["size"].clone()).collect();
        assert_eq!(sizes, [300_022, 300_022], "{}", output.stdout);
        let expected: Vec<_> = expected.iter().map(|head| ((*head).to_owned(), true)).collect();
        assert_eq!(std::mem::take(&mut *heads.lock().unwrap()), expected);
        let replayed = Running::start(program(&["--replay", record.as_str()])).wait();
        assert_eq!(replayed.stdout, output.stdout, "{}", replayed.stderr);
        let bytes = String::from_utf8_lossy(&fs::read(record.as_str()).unwrap()).into_owned();
        assert!(SECRETS.iter().all(|secret| !bytes.contains(secret)));
        // Not even the proxy is trusted without reason.
        for flags in [&[root][..], &["-k", root]] {
            let output = run_through(&proxy, flags).expect_code(3);
            let error = row(&output)["error"].clone();
            assert_eq!(error["class"], "tls", "{root}: {error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("(through the proxy https://127.0.0.1:"), "{message}");
        }
    }
}

/// Reads so many bytes.
fn read_bytes(stream: &mut TcpStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let _ = stream.read_exact(&mut bytes);
    bytes
}

#[test]
fn a_page_is_asked_through_socks_with_tls_and_without() {
    let (config, authority) = certificate();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let proxy = Server::start_raw(move |stream, _| {
        assert_eq!(read_bytes(stream, 4), b"\x05\x02\x00\x02");
        let _ = stream.write_all(b"\x05\x02");
        assert_eq!(read_bytes(stream, 11), b"\x01\x02me\x06s3cret");
        let _ = stream.write_all(b"\x01\x00");
        assert_eq!(read_bytes(stream, 5), b"\x05\x01\x00\x03\x09");
        let (host, port) = (read_bytes(stream, 9), read_bytes(stream, 2));
        log.lock().unwrap().push(String::from_utf8(host).unwrap());
        let _ = stream.write_all(b"\x05\x00\x00\x01\0\0\0\0\0\0");
        match port[..] {
            [1, 187] => serve_secure(&config, stream),
            _ => serve(stream, NEXT, |_| ()),
        }
    });
    let proxy = format!("socks5h://me:s3cret@{}", proxy.as_ref().unwrap().address());
    for (root, flags) in
        [("http://site.test/", &[][..]), ("https://site.test/", &["--cacert", authority.as_str()])]
    {
        let output = run_through(&proxy, &[&["-j", "1", root], flags].concat()).expect_code(0);
        assert_eq!(rows(&output.stdout).len(), 2, "{}", output.stdout);
    }
    assert_eq!(*asked.lock().unwrap(), ["site.test", "site.test"]);
}

/// An address at which no server listens.
const DEAD: &str = "127.0.0.1:1";

/// The fault of a proxy is in the row of each URL, with its name.
#[test]
fn what_a_proxy_does_wrong_is_an_error_that_names_it() {
    type Answer = fn(&mut TcpStream);
    const CUT: &[u8] = b"HTTP/1.1 407 No\r\nContent-Length: 9\r\n\r\nno";
    fn endless(stream: &mut TcpStream) {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"X-More: and more\r\n").is_ok() {}
    }
    fn silent(stream: &mut TcpStream) {
        let _ = stream.read_to_end(&mut Vec::new());
    }
    fn drips(stream: &mut TcpStream) {
        let slow = |byte: &u8| {
            thread::sleep(Duration::from_millis(100));
            stream.write_all(&[*byte])
        };
        let _ = b"HTTP/1.1 200 Connection established".iter().try_for_each(slow);
    }
    let answers: [(&str, &str, Answer, &str, &str); 15] = [
        ("http", "https", |s| drop(s.write_all(b"HTTP/1.1 407 No\r\n\r\n")), "proxy", "password"),
        ("http", "http", |s| drop(s.write_all(b"HTTP/1.1 407 No\r\n\r\n")), "proxy", "password"),
        ("http", "http", |s| drop(s.write_all(CUT)), "proxy", "password"),
        ("http", "https", |s| drop(s.write_all(b"HTTP/1.1 403 No\r\n\r\n")), "proxy", "allow"),
        ("http", "https", |s| drop(s.write_all(b"HTTP/1.1 503 No\r\n\r\n")), "proxy", "503"),
        ("http", "https", |s| drop(s.write_all(b"SSH-2.0-x\r\n\r\n")), "proxy", ""),
        ("http", "https", |s| drop(s.write_all(b"HTTP/1.1 200 O\r\n\r\n\x16")), "proxy", "more"),
        ("http", "https", endless, "proxy", ""),
        ("http", "https", |_| (), "closed", "closed"),
        ("http", "https", silent, "timeout", "no connection within 500ms"),
        ("http", "https", drips, "timeout", "no connection within 500ms"),
        ("socks5h", "http", |s| drop(s.write_all(b"\x05\xff")), "proxy", "password"),
        ("socks5h", "http", |s| drop(s.write_all(b"\x05\0\x05\x04")), "proxy", "more"),
        ("socks5h", "https", |s| drop(s.write_all(b"HTTP/1.1 400")), "proxy", "SOCKS"),
        ("socks5h", "http", silent, "timeout", "no connection within 500ms"),
    ];
    for (kind, scheme, answer, class, message) in answers {
        let proxy = Server::start_raw(move |stream, _| {
            match kind {
                "http" => drop(read_head(stream)),
                _ => drop(read_bytes(stream, 4)),
            }
            answer(stream);
            // A close with unread bytes would reset the connection.
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let address = proxy.as_ref().unwrap().address();
        let root = format!("{scheme}://site.test/");
        let mut flags = vec![root.as_str()];
        // Only where it is to pass: on a busy machine an answer may take as long.
        flags.extend((class == "timeout").then_some("--connect-timeout=500ms"));
        let output = run_through(&format!("{kind}://me:s3cret@{address}"), &flags).expect_code(3);
        let row = row(&output);
        let error = row["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(row["error"]["class"], class, "{message}: {row}");
        assert!(error.contains(message), "{message}: {row}");
        let name = format!("(through the proxy {kind}://{address})");
        assert!(error.ends_with(&name), "{message}: {row}");
    }
    // A name with such a long label is asked of no name server.
    let no_name = format!("{}.test", "x".repeat(64));
    for (proxy, class) in [(DEAD.to_owned(), "connect"), (no_name, "dns")] {
        let output = run_through(&proxy, &["http://site.test/"]).expect_code(3);
        let row = row(&output);
        assert_eq!(row["error"]["class"], class, "{row}");
        assert!(row["error"]["message"].as_str().unwrap().contains(&proxy), "{row}");
    }
}

#[test]
fn the_environment_says_which_hosts_have_a_proxy() {
    let site = Server::start(|_, reply| reply.page("")).unwrap();
    let dead = format!("http://{DEAD}");
    let root = site.url("/");
    for (variable, no_proxy, flags, code) in [
        ("http_proxy", "", &[][..], 3),
        ("all_proxy", "", &[], 3),
        ("ALL_PROXY", "", &[], 3),
        ("HTTP_PROXY", "", &[], 0),
        ("https_proxy", "", &[], 0),
        ("http_proxy", "127.0.0.0/8", &[], 0),
        ("http_proxy", "localhost,127.0.0.1", &[], 0),
        ("http_proxy", "*", &[], 0),
        ("http_proxy", "", &["--no-proxy"], 0),
    ] {
        let arguments = ["--no-robots", "--max-tries", "1", &root];
        let mut command = program(&[&arguments, flags].concat());
        command.env(variable, &dead).env("no_proxy", no_proxy);
        let output = Running::start(command).wait();
        let name = format!("{variable} {no_proxy} {flags:?}");
        assert_eq!(output.status.code(), Some(code), "{name}: {}", output.stderr);
    }
    let mut command = program(&[&root]);
    command.env("http_proxy", "socks4://me:s3cret@127.0.0.1");
    let output = Running::start(command).wait().expect_code(2);
    assert!(
        output.stderr.contains("http_proxy: the URL of a proxy begins with"),
        "{}",
        output.stderr
    );
    assert!(!output.stderr.contains("s3cret"), "{}", output.stderr);
}

/// Addresses behind a proxy are denied as they are without one, if they can be seen.
#[test]
fn denied_addresses_are_denied_behind_a_proxy() {
    let page = "<a href=http://169.254.169.254/>a</a><a href=http://10.1.2.3/>b</a>\
                <a href=http://127.0.0.1/>c</a><a href=http://name.test/>d</a>";
    let proxy = Server::start(move |_, reply| reply.page(page)).unwrap();
    let flags = ["--external", "--deny-private", "http://93.184.215.14/"];
    let output = run_through(&proxy.address().to_string(), &flags).expect_code(0);
    let mut classes: Vec<_> = rows(&output.stdout)
        .iter()
        .map(|(url, row)| format!("{url} {}", row["error"]["class"]).replace('"', ""))
        .collect();
    classes.sort();
    let expected = [
        "http://10.1.2.3/ denied_address",
        "http://127.0.0.1/ denied_address",
        "http://169.254.169.254/ denied_address",
        "http://93.184.215.14/ null",
        "http://name.test/ null",
    ];
    assert_eq!(classes, expected);
}

/// A proxy that gets addresses: what names lead to is looked up here, and denied.
#[test]
fn denied_addresses_of_names_are_denied_behind_socks5() {
    let proxy = Server::start_raw(|stream, _| {
        let _ = read_bytes(stream, 3);
        let _ = stream.write_all(b"\x05\x00");
        let length = match read_bytes(stream, 4)[3] {
            1 => 6,
            _ => usize::from(read_bytes(stream, 1)[0]) + 2,
        };
        let _ = read_bytes(stream, length);
        let _ = stream.write_all(b"\x05\x00\x00\x01\0\0\0\0\0\0");
        serve(stream, "<a href=http://localhost/>a</a>", |_| ());
    });
    let address = proxy.as_ref().unwrap().address();
    let flags = ["--external", "--deny-private", "http://93.184.215.14/"];
    for (kind, outcome) in [("socks5", "skipped"), ("socks5h", "other")] {
        let output = run_through(&format!("{kind}://{address}"), &flags).expect_code(0);
        let of_name = outcomes(&output).into_iter().find(|(url, _)| url == "http://localhost/");
        assert_eq!(of_name.unwrap().1, outcome, "{kind}: {}", output.stdout);
    }
}

#[test]
fn a_crawl_through_a_proxy_is_replayed_without_it() {
    let record = Scratch::new();
    for user in ["me", "m%2Fe", "m%3Ae"] {
        let proxy = Server::start(|_, reply| reply.page("<a href=/a>a</a>")).unwrap();
        let arguments = ["--no-robots", "--format", "jsonl", "--record", record.as_str()];
        let mut command = program(&[&arguments[..], &["http://site.test/"]].concat());
        command.env("all_proxy", format!("http://{user}:s3cret@{}", proxy.address()));
        let recorded = Running::start(command).wait().expect_code(0);
        assert_eq!(rows(&recorded.stdout).len(), 2);
        drop(proxy);
        let replayed = Running::start(program(&["--replay", record.as_str()])).wait();
        assert_eq!((replayed.stdout, replayed.stderr), (recorded.stdout, recorded.stderr));
        let bytes = String::from_utf8_lossy(&fs::read(record.as_str()).unwrap()).into_owned();
        for secret in SECRETS {
            assert!(!bytes.contains(secret));
        }
    }
    let socks = ["--record", record.as_str(), "--proxy", "socks5://me:s3cret@127.0.0.1", "a.test"];
    let output = Running::start(program(&socks)).wait().expect_code(2);
    assert!(output.stderr.contains("--record-secrets"), "{}", output.stderr);
}

/// A proxy that another program is. Dropping it ends the process.
struct RealProxy(Child, u16);

impl RealProxy {
    fn start(command: impl FnOnce(u16) -> Command) -> Self {
        let port = free_port();
        let mut command = command(port);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let proxy = Self(command.spawn().unwrap(), port);
        wait_until(|| TcpStream::connect(("127.0.0.1", port)).is_ok());
        proxy
    }
}

impl Drop for RealProxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs tinyproxy and microsocks: run .ci/real-peers"]
fn proxies_of_others_lead_to_a_site_with_tls_and_without() {
    let settings = Scratch::new();
    let tinyproxy = RealProxy::start(|port| {
        let text = format!("Port {port}\nListen 127.0.0.1\nBasicAuth me s3cret\nTimeout 60\n");
        fs::write(settings.as_str(), text).unwrap();
        let mut command = Command::new("tinyproxy");
        command.args(["-d", "-c", settings.as_str()]);
        command
    });
    let microsocks = RealProxy::start(|port| {
        let mut command = Command::new("microsocks");
        let port = port.to_string();
        command.args(["-i", "127.0.0.1", "-p", &port, "-u", "me", "-P", "s3cret"]);
        command
    });
    let authority = Authority::new("Root");
    let file = Scratch::new();
    fs::write(file.as_str(), authority.pem()).unwrap();
    let config = Arc::new(authority.issue(&["localhost"]).server());
    let secure = Server::start_raw(move |stream, _| {
        serve_secure(&config, stream);
    });
    let secure = format!("https://localhost:{}/", secure.as_ref().unwrap().address().port());
    let plain = Server::start(|_, reply| reply.page("<a href=/next>next</a>")).unwrap();
    let plain = format!("http://localhost:{}/", plain.address().port());
    for (proxy, bad) in [
        (format!("http://me:s3cret@127.0.0.1:{}", tinyproxy.1), "http://127.0.0.1"),
        (format!("socks5://me:s3cret@127.0.0.1:{}", microsocks.1), "socks5://x:y@127.0.0.1"),
        (format!("socks5h://me:s3cret@127.0.0.1:{}", microsocks.1), "socks5h://127.0.0.1"),
    ] {
        for root in [&plain, &secure] {
            let arguments = ["--cacert", file.as_str(), root];
            let output = run_through(&proxy, &arguments).expect_code(0);
            assert_eq!(rows(&output.stdout).len(), 2, "{proxy} {root}: {}", output.stdout);
            let port = proxy.rsplit(':').next().unwrap();
            let output = run_through(&format!("{bad}:{port}"), &arguments).expect_code(3);
            let class = &row(&output)["error"]["class"];
            assert_eq!(class, "proxy", "{bad} {root}: {}", output.stdout);
        }
        // There is no such server.
        let nowhere = format!("https://{DEAD}/");
        let output = run_through(&proxy, &[&nowhere]).expect_code(3);
        assert_eq!(row(&output)["error"]["class"], "proxy", "{proxy}: {}", output.stdout);
    }
}
