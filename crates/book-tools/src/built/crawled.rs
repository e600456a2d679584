//! The lint of the served book: our own crawler looks for broken links and
//! unreachable pages.

use std::fs;
use std::io;
use std::path::{Component, Path};

use crawl::{Check, Crawler, Options, Row};
use demo_site::scripted::{Reply, Server};

use super::{Built, page_name, source_of};
use crate::book::Book;
use crate::lint::Finding;

/// Finds broken links, and pages that cannot be reached without JavaScript, which
/// the crawler does not run.
pub(super) fn check(book: &Book, built: &Built) -> io::Result<Vec<Finding>> {
    let folder = built.folder.path().to_owned();
    let server = Server::start(move |request, reply| serve(&folder, request.path(), reply))?;
    let mut findings = broken(&crawl(&server.url("/"))?, &server.url("/"));
    for page in book.in_order() {
        if server.hits(&format!("/{}", page_name(page))) == 0 {
            let what = "no link leads here for readers without JavaScript";
            findings.push(Finding::new(&page.path, 1, what));
        }
    }
    Ok(findings)
}

/// Crawls the book, with all checks of the crawler; returns the broken rows.
fn crawl(root: &str) -> io::Result<Vec<Row>> {
    let mut options = Options::new(vec![root.parse().map_err(io::Error::other)?]);
    options.settings.check = Check::ALL;
    let mut broken: Vec<Row> = Vec::new();
    let keep_broken = |row: Row| broken.extend(Some(row).filter(Row::is_broken));
    Crawler::builder(options).on_row(keep_broken).run()?;
    Ok(broken)
}

/// Makes findings of the rows.
fn broken(rows: &[Row], root: &str) -> Vec<Finding> {
    let finding = |row: &Row| {
        let url = row.url.replace(root, "");
        let why = match (&row.error, row.status) {
            (Some(error), _) => error.message.replace(root, ""),
            (None, Some(status)) => format!("status {status}"),
            (None, None) => "no response".to_owned(),
        };
        let what = format!("the crawler finds {url} broken: {why}");
        let referrer = row.referrer.as_deref().unwrap_or(root).replace(root, "");
        Finding::new(&source_of(&referrer), 1, what)
    };
    rows.iter().map(finding).collect()
}

/// Serves a file of the folder.
fn serve(folder: &Path, path: &str, reply: &mut Reply<'_>) {
    let name = if path == "/" { "index.html" } else { path.trim_start_matches('/') };
    let is_inside = Path::new(name).components().all(|it| matches!(it, Component::Normal(_)));
    match fs::read(folder.join(name)) {
        Ok(body) if is_inside => {
            reply.status(200, "OK", &[("Content-Type", content_type(name))], body);
        }
        _ => reply.status(404, "Not Found", &[], ""),
    }
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css",
        "js" => "text/javascript",
        "svg" => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::built;
    use super::*;
    use crate::book::tests::book;

    const SUMMARY: (&str, &str) = ("book/src/SUMMARY.md", "- [A](a.md)\n- [B](b.md)\n");

    #[test]
    fn broken_links_and_unreachable_pages_are_findings() {
        let (_folder, book) = book(&[SUMMARY, ("book/src/a.md", "a"), ("book/src/b.md", "b")]);
        let built = built(&[
            ("index.html", "<a href=a.html#here><link rel=stylesheet href=s.css>"),
            ("a.html", "<p id=there><img src=i.svg><script src=s.js></script>"),
            ("b.html", ""),
        ]);
        let mut found = check(&book, &built).unwrap();
        found.sort();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let [image, script, lost, fragment, style] = found.as_slice() else {
            panic!("{found:#?}");
        };
        assert_eq!(*image, "book/src/a.md:1: the crawler finds i.svg broken: status 404");
        assert_eq!(*script, "book/src/a.md:1: the crawler finds s.js broken: status 404");
        assert!(lost.starts_with("book/src/b.md:1: no link leads here"), "{lost}");
        assert!(fragment.contains("a.html#here broken: nothing is called 'here'"), "{fragment}");
        assert!(style.ends_with("s.css broken: status 404"), "{style}");
    }

    #[test]
    fn only_files_of_the_book_are_served() {
        let built = built(&[("inside/page.html", "a page")]);
        let folder = built.folder.path().join("inside");
        fs::write(built.folder.path().join("secret"), "s").unwrap();
        let server =
            Server::start(move |request, reply| serve(&folder, request.path(), reply)).unwrap();
        let status = |path: &str| {
            use std::io::{Read, Write};
            let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
            write!(stream, "GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).unwrap();
            response.split(' ').nth(1).unwrap().to_owned()
        };
        assert_eq!(status("/page.html"), "200");
        assert_eq!(status("/../secret"), "404");
        assert_eq!(status("/none.html"), "404");
    }
}
