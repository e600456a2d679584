//! Tests of the local half of the admission: what one process of many finds in a file.

use std::borrow::Cow;
use std::time::Instant;

use crawl_core::{Job, JournalEntry, LocalAdmission, LocalCompletion, Options, Verdict};

use crate::site::options;

/// Returns the result of a job whose server sends this body.
fn settle(local: &mut LocalAdmission, job: &Job, media_type: &str, body: &str) -> LocalCompletion {
    let begun = Instant::now();
    let mut visit = local.visit(job.clone(), begun);
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {length}");
    loop {
        visit.request(&local.options().clone(), false);
        let _ = visit.receive(format!("{head}\r\n\r\n{body}").as_bytes());
        if visit.judge(Ok(())) == Verdict::Finished {
            break;
        }
    }
    local.settle(job, visit.finish(begun))
}

fn admission(options: Options) -> (LocalAdmission, Job) {
    let mut local = LocalAdmission::new(options);
    let root = local.roots().remove(0).job;
    (local, root)
}

#[test]
fn a_style_sheet_has_the_urls_that_it_names() {
    let mut wanted = options("http://a.test/");
    (wanted.settings.check.styles, wanted.settings.check.images) = (true, true);
    let (mut local, root) = admission(wanted);
    let page = "<link rel=stylesheet href=/style.css>";
    let page = settle(&mut local, &root, "text/html", page);
    let style = "a { background: url(/1.png) } b { background: url(/2.png), url(/3.png) }";
    let style = settle(&mut local, &page.candidates[0].job, "text/css", style);
    assert_eq!((page.row.num_urls, style.row.num_urls), (1, 3));
    assert_eq!(style.candidates.len(), 3);
}

#[test]
fn a_link_that_is_no_url_is_none_when_it_is_read_from_the_journal() {
    let mut wanted = options("http://a.test/");
    wanted.settings.external = true;
    let (mut local, root) = admission(wanted);
    let page = "<a href=http://https://b.test/>x</a><a href=http://c.test/>x</a><a href=/d>x</a>";
    let page = settle(&mut local, &root, "text/html", page);
    assert_eq!((page.candidates.len(), page.out_links.len()), (2, 3));
    let entry = JournalEntry {
        row: Cow::Borrowed(&page.row),
        purpose: root.purpose,
        redirects_left: root.redirects_left,
        out_links: page.out_links.into(),
        ids: Vec::new().into(),
        content: None,
        sets_cookie: page.sets_cookie,
        lacks: page.lacks.into(),
    };
    assert_eq!(local.candidates_of(&entry), page.candidates);
}

#[test]
fn links_that_are_no_urls_do_not_fill_the_memory() {
    const COUNT: usize = 400_000;
    let (mut local, root) = admission(options("http://a.test/"));
    let links: String = (0..COUNT).map(|n| format!("<a href=//:{n}>x</a>")).collect();
    let page = settle(&mut local, &root, "text/html", &links);
    let left_out = COUNT - page.out_links.len();
    assert!(left_out > 0, "{left_out}");
    let told = "http://a.test/ has more links than fit into memory";
    assert_eq!(page.lacks, [format!("{told}: {left_out} of them were skipped")]);
}

#[test]
fn a_sitemap_with_a_mistake_is_a_lack() {
    let (mut local, root) = admission(options("http://a.test/sitemap.xml"));
    let entry = "<url><loc>http://a.test/page</loc></url>";
    let mistake = format!("<urlset>{entry}<url></urlset>");
    let sitemap = settle(&mut local, &root, "text/xml", &mistake);
    let said = "sitemap http://a.test/sitemap.xml: cannot be decoded: XML: an end tag without its start tag";
    assert_eq!((sitemap.candidates.len(), sitemap.lacks), (1, vec![said.to_owned()]));
    let whole = settle(&mut local, &root, "text/xml", &format!("<urlset>{entry}</urlset>"));
    assert_eq!((whole.candidates.len(), whole.lacks), (1, Vec::new()));
}
