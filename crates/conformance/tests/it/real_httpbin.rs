//! The responses of httpbin, a server whose URLs say how it is to answer.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crawl_core::ErrorClass;

use crate::common::real_server::{RealServer, expect_table};
use crate::common::{Stage, failed, options, options_for};

/// Starts httpbin. It listens before it has a worker that answers, so this
/// waits for the first response.
fn httpbin() -> RealServer {
    let server = RealServer::start(|_, port, _| {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/httpbin/bin");
        let mut command = Command::new(program.join("gunicorn"));
        command
            .args(["--worker-class=gthread", "--threads=40", "--keep-alive=5"])
            // The control socket is one file in the user's home, and all
            // servers would share it.
            .arg("--no-control-socket")
            .args([format!("--bind=127.0.0.1:{port}").as_str(), "httpbin:app"]);
        command
    });
    let deadline = Instant::now() + Duration::from_secs(20);
    while !answers(server.port) {
        assert!(Instant::now() < deadline, "no answer: {}", server.read("stderr"));
        sleep(Duration::from_millis(20));
    }
    server
}

/// Returns true if the server on this port answers a request.
fn answers(port: u16) -> bool {
    let request = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /status/204 HTTP/1.0\r\n\r\n")?;
        stream.read(&mut [0; 12])
    };
    request().is_ok_and(|read| read > 0)
}

/// The roots of the crawl, with their rows.
const ROOTS: &str = "
    /status/204                              page 204 0 0
    /status/300                              page 300 0 0
    /status/304                              other 304 - 0
    /status/301                              redirect 301 ORIGIN/redirect/1
    /status/418                              http_error 418
    /status/500                              http_error 500
    /basic-auth/user/password                http_error 401
    /redirect/3                              redirect 302 ORIGIN/relative-redirect/2
    /absolute-redirect/2                     redirect 302 ORIGIN/absolute-redirect/1
    /redirect-to?url=/get&status_code=307    redirect 307 ORIGIN/get
    /redirect-to?url=http://example.test/    redirect 302 http://example.test/
    /cookies/set?key=value                   redirect 302 ORIGIN/cookies
    /gzip                                    other 200 application/json *
    /deflate                                 other 200 application/json *
    /brotli                                  other 200 application/json *
    /encoding/utf8                           page 200 14239 0
    /html                                    page 200 3741 0
    /base64/PGEgaHJlZj0vaHRtbD5hPC9hPg==     page 200 19 1
    /links/4/0                               page 200 142 3
    /robots.txt                              other 200 text/plain 30
    /json                                    other 200 application/json *
    /xml                                     other 200 application/xml 522
    /image/png                               other 200 image/png 8090
    /bytes/1024?seed=1                       other 200 application/octet-stream 1024
    /range/1000                              other 200 application/octet-stream 1000
    /stream-bytes/5000?chunk_size=100        other 200 application/octet-stream 5000
    /stream/5                                other 200 application/json *
    /drip?duration=0.2&numbytes=10&delay=0   other 200 application/octet-stream 10
";

/// The rows of the URLs that the roots lead to.
const TARGETS: &str = "
    /redirect/1                              redirect 302 ORIGIN/get
    /relative-redirect/2                     redirect 302 ORIGIN/relative-redirect/1
    /relative-redirect/1                     redirect 302 ORIGIN/get
    /absolute-redirect/1                     redirect 302 ORIGIN/get
    /get                                     other 200 application/json *
    /cookies                                 other 200 application/json *
    /links/4/1                               page 200 142 3
    /links/4/2                               page 200 142 3
    /links/4/3                               page 200 142 3
";

#[test]
#[ignore = "needs target/httpbin: run .ci/real-peers"]
fn every_response_gives_its_row_and_a_late_one_times_out() {
    let server = httpbin();
    let origin = server.origin();
    let roots = ROOTS.lines().filter_map(|line| line.split_whitespace().next());
    let roots: Vec<String> = roots.map(|path| format!("{origin}{path}")).collect();
    let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
    thread::scope(|scope| {
        for stage in Stage::ALL {
            let (roots, origin) = (&roots, &origin);
            scope.spawn(move || {
                let crawled = stage.crawl(options_for(roots));
                expect_table(&crawled, origin, &format!("{ROOTS}{TARGETS}"));
            });
        }
    });
    for stage in Stage::ALL {
        let mut options = options(origin.clone() + "/delay/3");
        options.settings.read_timeout = Duration::from_millis(300);
        stage.crawl(options).expect([("/delay/3", failed(ErrorClass::Timeout))]);
    }
}
