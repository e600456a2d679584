//! Passwords in links are neither sent nor shown, and they are warned of.

use demo_site::scripted::Server;

use crate::program::{Scratch, rows, run};

#[test]
fn a_password_in_a_link_is_nowhere_and_warned_of() {
    let site = Server::start(|request, reply| {
        let host = request.header("host").unwrap_or_default();
        match request.path() {
            "/" => {
                let link = format!("http://me:secret@{host}/in");
                reply.page(format!(
                    "<a href={link}>{link}</a><a href=/in>x</a><a href=//me:secret@{host}/gone>\
                     //me:secret@{host}</a><a href=htp://me:secret@{host}/>x</a>\
                     <a href=/moved>x</a><a href=/wrong>x</a>"
                ));
            }
            "/in" if request.header("authorization").is_some() => reply.page("let in"),
            "/in" => reply.page(format!("<base href=http://me:secret@{host}/b/><a href=c>x</a>")),
            "/b/c" => reply.page(""),
            "/moved" => {
                let to = format!("http://me:secret@{host}/b/c");
                reply.status(301, "Moved", &[("Location", &*to)], "");
            }
            "/wrong" => {
                let to = format!("ftp://me:secret@{host}/b/c");
                reply.status(301, "Moved", &[("Location", &*to)], "");
            }
            _ => reply.status(404, "Not Found", &[], ""),
        }
    })
    .unwrap();
    let root = site.url("/");
    for format in ["text", "json", "jsonl", "markdown", "html", "junit"] {
        let journal = Scratch::new();
        let arguments = [&*root, "--all", "--redirects", "warn", "--format", format, "--state"];
        let output = run(&[&arguments[..], &[journal.as_str()]].concat()).expect_code(1);
        let journal = String::from_utf8(journal.read()).unwrap();
        for text in [&output.stdout, &output.stderr, &journal] {
            assert!(!text.contains("secret"), "{format}: {text}");
        }
        assert_eq!(output.stderr.matches("a password").count(), 1, "{}", output.stderr);
        if format == "jsonl" {
            let urls = rows(&output.stdout);
            let expected = ["/", "/b/c", "/gone", "/in", "/moved", "/wrong"];
            for path in expected {
                assert!(urls.contains_key(&site.url(path)), "{path}: {}", output.stdout);
            }
        }
    }
    assert_eq!(site.requests(), 6 * 6, "six URLs a run");
}
