//! Tests of fragments: links to elements within pages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crawl_core::{ErrorClass, Job, Options, Outcome};
use proptest::collection::vec;
use proptest::prelude::*;
use test_support::cases;
use url::Url;

use crate::site::{Crawled, Reply, crawl, crawl_from, options, page, redirect};

const SITE: &str = "http://site.test/";

fn checking() -> Options {
    let mut options = options(SITE);
    options.settings.check.fragments = true;
    options
}

/// Returns the missing fragments, as paths.
fn missing(crawled: &Crawled) -> BTreeSet<String> {
    let rows = crawled.rows.values().filter(|row| {
        let is_missing = row.error.as_ref().is_some_and(|e| e.class == ErrorClass::Fragment);
        assert_eq!(is_missing, row.url.contains('#'), "{row:?}");
        is_missing
    });
    let missing: BTreeSet<String> = rows
        .map(|row| {
            assert_eq!((row.outcome, row.tries), (Outcome::Failed, 0));
            row.url[SITE.len() - 1..].to_owned()
        })
        .collect();
    assert_eq!(crawled.summary.missing_fragments, missing.len() as u64);
    missing
}

/// Returns those of the links whose fragments are missing in the page `target`.
fn missing_of(links: &[&str], target: &str) -> BTreeSet<String> {
    let html: String = links.iter().map(|link| format!("<a href=\"{link}\">x</a>")).collect();
    let crawled = crawl(&checking(), |_, url| match url.path() {
        "/" => page(html.clone()),
        _ => page(target),
    });
    missing(&crawled)
}

#[test]
fn an_element_is_found_however_its_id_is_written() {
    for (fragment, target) in [
        ("a", "<p id=a>"),
        ("a", "<a name=a>"),
        ("a", "<a href=/x id=b name=a>"),
        ("a%20b", "<p id='a b'>"),
        ("a b", "<p id='a b'>"),
        ("a%20b", "<p id=a%20b>"),
        ("a%2Fb", "<p id=a/b>"),
        ("a/b", "<p id=a/b>"),
        ("%C3%BC", "<p id=\u{fc}>"),
        ("\u{fc}", "<p id=\u{fc}>"),
        ("a&amp;b", "<p id=a&amp;b>"),
        ("a", "<p id=user-content-a>"),
        ("a%20b", "<p id='user-content-a b'>"),
        ("", ""),
        ("top", ""),
        ("TOP", ""),
        ("t%6Fp", ""),
        (":~:text=anything", ""),
        ("a:~:text=anything", "<p id=a>"),
    ] {
        let links = [&*format!("/x#{fragment}")];
        assert_eq!(missing_of(&links, target), BTreeSet::new(), "#{fragment} in {target}");
    }
}

#[test]
fn a_fragment_without_an_element_is_missing() {
    for (fragment, target, expected) in [
        ("a", "", "a"),
        ("a", "<p id=A><p id=ab><p id=b>", "a"),
        ("a", "<p name=a><p id=''>", "a"),
        ("user-content-a", "<p id=a>", "user-content-a"),
        ("topic", "", "topic"),
        ("a:~:text=anything", "", "a"),
        ("a b", "<p id=a><p id=b>", "a%20b"),
        ("%FF", "<p id=a>", "%FF"),
    ] {
        let links = [&*format!("/x#{fragment}")];
        let expected = BTreeSet::from([format!("/x#{expected}")]);
        assert_eq!(missing_of(&links, target), expected, "#{fragment} in {target}");
    }
}

#[test]
fn a_missing_fragment_is_a_broken_row_of_its_own() {
    let crawled = crawl(&checking(), |_, url| match url.path() {
        "/" => page("<p>\n<a href=/x#no>one</a> <a href=/x>x</a> <a href=#no>two</a><p id=yes>"),
        _ => page("<a href=/#yes>x</a>\n\n  <a href=/x#no>three</a><a href=#no>four</a>"),
    });
    let paths = ["/#no", "/x#no"].map(str::to_owned);
    assert_eq!(missing(&crawled), BTreeSet::from(paths));
    let row = crawled.row("http://site.test/x#no");
    assert_eq!((row.status, row.depth, row.referrer.as_deref()), (Some(200), 1, Some(SITE)));
    let error = row.error.as_ref().unwrap();
    assert_eq!(error.message, "no element has the id 'no'");
    assert!(row.is_broken());
    let places = ["http://site.test/:2:1 a one", "http://site.test/x:3:3 a three"];
    assert_eq!(crawled.link_contexts("http://site.test/x#no"), places);
    assert_eq!(crawled.link_contexts("http://site.test/#no"), ["http://site.test/:2:40 a two"]);
    assert_eq!((crawled.rows.len(), crawled.summary.done, crawled.summary.too_deep), (4, 4, 0));
    // By default fragments are not checked.
    let crawled = crawl(&options(SITE), |_, _| page("<a href=/x#no>x</a>"));
    assert_eq!(crawled.broken(), []);
}

#[test]
fn fragments_are_checked_only_in_pages_of_the_site() {
    let mut options = checking();
    options.settings.external = true;
    options.settings.check.images = true;
    options.settings.max_depth = Some(1);
    let html = "<a href=/gone#a>x</a><a href=/text#a>x</a><a href=/silent#a>x</a>\
                <img src=/image#a><a href=http://else.test/#a>x</a><a href=/near>x</a>";
    let crawled = crawl(&options, |_, url| match url.path() {
        "/" if url.host_str() == Some("site.test") => page(html),
        "/near" => page("<a href=/far#a>x</a>"),
        "/gone" => Reply::Status(404),
        "/text" => Reply::Body("text/plain", b"<p id=b>".to_vec()),
        "/image" => Reply::Body("image/svg+xml", b"<g id=b>".to_vec()),
        "/silent" => Reply::Fails(ErrorClass::Closed),
        _ => page(""),
    });
    assert_eq!(missing(&crawled), BTreeSet::new());
    let broken = [("http://site.test/gone", ""), ("http://site.test/silent", "closed")];
    assert_eq!(crawled.broken(), broken);
}

#[test]
fn a_redirect_keeps_the_fragment() {
    let site = |_: &str, url: &Url| match url.path() {
        "/" => page(
            "<a href=/old#a>x</a><a href=/old#no>x</a><a href=/own#no>x</a><a href=/bad>x</a>\
             <a href=/out#no>x</a><a href=/loop#no>x</a><a href=/empty#no>x</a>",
        ),
        "/old" => redirect("/older"),
        "/older" => redirect("/new"),
        "/own" => redirect("/new#a"),
        "/bad" => redirect("/new#nowhere"),
        "/out" => redirect("http://else.test/"),
        "/loop" => redirect("/loop2"),
        "/loop2" => redirect("/loop"),
        "/empty" => redirect("/new#"),
        _ => page("<p id=a>"),
    };
    let first: fn(&mut VecDeque<Job>) -> Option<Job> = VecDeque::pop_front;
    for order in [first, VecDeque::pop_back] {
        let crawled = crawl_from(&checking(), site, order);
        let expected = ["/new#nowhere", "/old#no"].map(str::to_owned);
        assert_eq!(missing(&crawled), BTreeSet::from(expected));
        let row = crawled.row("http://site.test/old#no");
        assert_eq!((row.status, row.referrer.as_deref()), (Some(200), Some(SITE)));
        assert!(row.error.as_ref().unwrap().message.ends_with(" in http://site.test/new"));
        let row = crawled.row("http://site.test/new#nowhere");
        assert_eq!(row.referrer.as_deref(), Some("http://site.test/bad"));
    }
}

/// A page of a generated site: its redirect or its links, and its ids.
#[derive(Clone, Debug)]
struct TestPage {
    redirects_to: Option<usize>,
    links: Vec<(usize, char)>,
    ids: Vec<char>,
}

fn sites() -> impl Strategy<Value = Vec<TestPage>> {
    let redirects = prop_oneof![3 => Just(None), 1 => (0..6_usize).prop_map(Some)];
    let links = vec((0..6_usize, proptest::char::range('a', 'd')), 0..6);
    let ids = vec(proptest::char::range('a', 'd'), 0..4);
    let test_page = (redirects, links, ids);
    let test_page =
        test_page.prop_map(|(redirects_to, links, ids)| TestPage { redirects_to, links, ids });
    vec(test_page, 6)
}

/// Returns the missing fragments, computed from the site itself.
fn expected(site: &[TestPage], is_requested: impl Fn(usize) -> bool) -> BTreeSet<String> {
    let mut expected = BTreeSet::new();
    let pages = site.iter().enumerate();
    for (_, test_page) in
        pages.filter(|(n, test_page)| is_requested(*n) && test_page.redirects_to.is_none())
    {
        for &(target, id) in &test_page.links {
            let mut end = target;
            for _ in 0..site.len() {
                end = site[end].redirects_to.unwrap_or(end);
            }
            if site[end].redirects_to.is_none() && !site[end].ids.contains(&id) {
                expected.insert(format!("/{target}#{id}"));
            }
        }
    }
    expected
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    #[test]
    fn missing_fragments_do_not_depend_on_the_order_of_fetches(
        mut site in sites(),
        choices in vec(any::<usize>(), 8),
    ) {
        site[0].redirects_to = None;
        let mut options = checking();
        options.settings.roots = [Url::parse("http://site.test/0").unwrap()].into();
        let serve = |_: &str, url: &Url| {
            let test_page = &site[url.path()[1..].parse::<usize>().unwrap()];
            if let Some(to) = test_page.redirects_to {
                return redirect(&format!("/{to}"));
            }
            let links = test_page.links.iter().map(|(n, id)| format!("<a href=/{n}#{id}>x</a>"));
            let ids = test_page.ids.iter().map(|id| format!("<p id={id}>"));
            page(links.chain(ids).collect::<String>())
        };
        let step = std::cell::Cell::new(0);
        let crawled = crawl_from(&options, serve, |todo| {
            step.set(step.get() + 1);
            let choice = choices[step.get() % choices.len()];
            todo.swap_remove_back(choice.checked_rem(todo.len())?)
        });
        let requests: BTreeMap<_, _> =
            crawled.requests.iter().map(|url| (url.clone(), ())).collect();
        let is_requested = |n: usize| requests.contains_key(&format!("GET http://site.test/{n}"));
        prop_assert_eq!(missing(&crawled), expected(&site, is_requested));
    }
}
