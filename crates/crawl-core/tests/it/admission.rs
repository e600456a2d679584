//! Tests of the admission: its decisions about URLs, and its referrers.

use crawl_core::{Admission, Decision, ErrorClass, Job, Options, TrapLimits, Via};
use regex::Regex;
use url::Url;
use web::Address;

const ROOT: &str = "http://site.test/";

fn new_admission(change: impl FnOnce(&mut Options)) -> (Admission, Job) {
    let mut options = Options::new(vec![Url::parse(ROOT).unwrap()]);
    change(&mut options);
    let mut admission = Admission::new(&options);
    let root = admitted(&mut admission, ROOT, Via::Root);
    (admission, root)
}

fn admit(admission: &mut Admission, url: &str, via: Via<'_>) -> Decision {
    admission.admit(Address::of(&Url::parse(url).unwrap()).unwrap(), via)
}

fn admitted(admission: &mut Admission, url: &str, via: Via<'_>) -> Job {
    match admit(admission, url, via) {
        Decision::Admitted(job) => job,
        other => panic!("{url}: {other:?}"),
    }
}

/// Returns the stored referrers of a URL, and the number of all of them.
fn referrers<'a>(admission: &'a Admission, url: &str) -> (Vec<&'a str>, u32) {
    let (first, count) = admission.referrers(url);
    (first.iter().map(|referrer| referrer.url).collect(), count)
}

fn regex(text: &str) -> Regex {
    Regex::new(text).unwrap()
}

#[test]
fn each_url_is_admitted_once_however_it_is_written() {
    let (mut admission, root) = new_admission(|_| ());
    assert_eq!(&*root.url, "http://site.test/");
    let same = ["HTTP://Site.Test:80", "http://site.test/./#x", "http://site.test/a/.."];
    for (n, again) in same.into_iter().enumerate() {
        let expected = if n == 0 { Decision::Known } else { Decision::Repeated };
        assert_eq!(admit(&mut admission, again, Via::Link(&root)), expected, "{again}");
    }
    let a = admitted(&mut admission, "http://site.test/a#top", Via::Link(&root));
    let slash = admitted(&mut admission, "http://site.test/a/", Via::Link(&a));
    assert_eq!((&*a.url, a.depth), ("http://site.test/a", 1));
    assert_eq!((&*slash.url, slash.depth), ("http://site.test/a/", 2));
    assert_eq!(admission.seen(), 3);
}

#[test]
fn the_redirect_budget_travels_with_the_job() {
    let (mut admission, root) = new_admission(|options| options.settings.max_redirect = 1);
    let next = admitted(&mut admission, "http://site.test/1", Via::Redirect(&root));
    assert_eq!((next.redirects_left, next.depth), (0, 0));
    let beyond = admit(&mut admission, "http://site.test/2", Via::Redirect(&next));
    assert_eq!(beyond, Decision::ChainTooLong);
    let link = admitted(&mut admission, "http://site.test/2", Via::Link(&next));
    assert_eq!((link.redirects_left, link.depth), (1, 1), "a page begins a new chain");
}

/// Returns true if a URL is not part of the crawl.
fn is_left_out(decision: &Decision) -> bool {
    matches!(decision, Decision::Outside | Decision::Unchecked)
}

#[test]
fn roots_links_and_redirects_pass_the_same_filters() {
    let (mut admission, root) =
        new_admission(|options| options.settings.exclude.push(regex("private")));
    let outside = ["http://elsewhere.test/", "http://site.test:81/", "http://site.test/private/1"];
    for url in outside {
        for via in [Via::Root, Via::Link(&root), Via::Redirect(&root)] {
            assert!(is_left_out(&admit(&mut admission, url, via)), "{url}");
        }
    }
    assert_eq!((admission.seen(), admission.too_deep()), (1, 0));
}

#[test]
fn only_what_is_included_is_followed_and_exclusion_wins() {
    let (mut admission, root) = new_admission(|options| {
        options.settings.include = vec![regex("/docs/"), regex(r"\.html$")];
        options.settings.exclude = vec![regex("draft")];
    });
    for (path, is_followed) in [
        ("docs/1", true),
        ("a.html", true),
        ("a.html?b", false),
        ("docs", false),
        ("docs/draft", false),
    ] {
        let decision = admit(&mut admission, &format!("{ROOT}{path}"), Via::Link(&root));
        assert_eq!(matches!(decision, Decision::Admitted(_)), is_followed, "{path}");
        assert_eq!(is_left_out(&decision), !is_followed, "{path}");
    }
    admitted(&mut admission, "http://site.test/docs", Via::Root);
    let draft = admit(&mut admission, "http://site.test/draft", Via::Root);
    assert!(is_left_out(&draft), "exclusion wins over a root");
}

#[test]
fn what_is_too_deep_may_come_in_a_shorter_way() {
    let (mut admission, root) = new_admission(|options| options.settings.max_depth = Some(1));
    let near = admitted(&mut admission, "http://site.test/near", Via::Link(&root));
    let far = "http://site.test/far";
    let other = admitted(&mut admission, "http://site.test/other", Via::Redirect(&near));
    assert_eq!(other.depth, 1, "a redirect is no click");
    assert_eq!(admit(&mut admission, far, Via::Link(&near)), Decision::TooDeep);
    assert_eq!(admit(&mut admission, far, Via::Link(&near)), Decision::Repeated);
    assert_eq!(admit(&mut admission, far, Via::Link(&other)), Decision::Known);
    let outside = admit(&mut admission, "http://else.test/", Via::Link(&near));
    assert!(is_left_out(&outside));
    assert_eq!((admission.seen(), admission.too_deep()), (3, 1));
    let job = admitted(&mut admission, far, Via::Link(&root));
    assert_eq!((&*job.url, job.depth), (far, 1));
    assert_eq!((admission.seen(), admission.too_deep()), (4, 0));
    assert_eq!(admit(&mut admission, far, Via::Root), Decision::Known);
    let expected = vec![&*near.url, &other.url, &root.url];
    assert_eq!(referrers(&admission, far), (expected, 3));
    assert_eq!(admission.first_referrer(far), Some(&*near.url));
}

#[test]
fn a_shorter_way_leads_to_no_more_pages_than_a_host_may_have() {
    let (mut admission, root) = new_admission(|options| {
        options.settings.max_depth = Some(1);
        options.settings.max_pages_per_host = Some(5);
    });
    let near = admitted(&mut admission, "http://site.test/near", Via::Link(&root));
    let url_of = |n: u32| format!("http://site.test/{n}");
    for n in 0..20 {
        assert_eq!(admit(&mut admission, &url_of(n), Via::Link(&near)), Decision::TooDeep);
    }
    let decisions: Vec<_> =
        (0..20).map(|n| admit(&mut admission, &url_of(n), Via::Link(&root))).collect();
    let num_admitted =
        decisions.iter().filter(|decision| matches!(decision, Decision::Admitted(_))).count();
    assert_eq!(num_admitted, 3, "{decisions:?}");
    assert!(matches!(decisions[3], Decision::Refused { .. }), "the first one is told of");
}

#[test]
fn urls_that_differ_in_stripped_pairs_are_one_url() {
    let (mut admission, root) =
        new_admission(|options| options.settings.strip_query = vec!["sid".into(), "ref".into()]);
    let page = admitted(&mut admission, "http://site.test/p?a=1&sid=5&b=2", Via::Link(&root));
    assert_eq!(&*page.url, "http://site.test/p?a=1&b=2");
    let again = admit(&mut admission, "http://site.test/p?ref=x&a=1&b=2&sid", Via::Link(&page));
    assert_eq!(again, Decision::Known);
    let root = admit(&mut admission, "http://site.test/?sid=1", Via::Link(&page));
    assert_eq!(root, Decision::Known);
    admitted(&mut admission, "http://site.test/p?b=2&a=1", Via::Link(&page));
}

#[test]
fn a_trap_is_refused_once_with_a_reason() {
    let (mut admission, root) = new_admission(|_| ());
    let trap = "http://site.test/a/b/a/b/a/b/";
    let Decision::Refused { url, depth, error } = admit(&mut admission, trap, Via::Link(&root))
    else {
        panic!("it is let in");
    };
    assert_eq!((&*url, depth, error.class), (trap, 1, ErrorClass::Trap));
    assert_eq!(admit(&mut admission, trap, Via::Link(&root)), Decision::Repeated);
    assert_eq!(admit(&mut admission, trap, Via::Redirect(&root)), Decision::Repeated);
    assert_eq!(admit(&mut admission, trap, Via::Root), Decision::Known);
    assert_eq!(admission.seen(), 2);
    assert_eq!(admission.first_referrer(trap), Some(ROOT));
}

/// There may be any number of them, each with a row.
#[test]
fn a_host_has_at_most_so_many_traps() {
    let (mut admission, root) = new_admission(|options| options.settings.traps.repetitions = 3);
    let decisions = (0..100_010)
        .map(|n| admit(&mut admission, &format!("http://site.test/a/a/a/{n}"), Via::Link(&root)));
    let refused = decisions.filter(|decision| matches!(decision, Decision::Refused { .. }));
    assert_eq!(refused.count(), 100_000);
    admitted(&mut admission, "http://site.test/page", Via::Link(&root));
    let other = admit(&mut admission, "http://site.test/a/a/a/0", Via::Link(&root));
    assert!(matches!(other, Decision::Known | Decision::Repeated), "{other:?}");
}

#[test]
fn a_url_that_is_too_long_is_stored_shortened() {
    let (mut admission, root) =
        new_admission(|options| options.settings.exclude.push(regex(r"\.gif$")));
    let long = |end: &str| format!("{ROOT}{}{end}", "a".repeat(30_000));
    assert!(is_left_out(&admit(&mut admission, &long(".gif"), Via::Link(&root))));
    let Decision::Refused { url, .. } = admit(&mut admission, &long("1"), Via::Link(&root)) else {
        panic!("it is let in");
    };
    assert_eq!(url.len(), TrapLimits::default().url_bytes + 1);
    assert_eq!(admit(&mut admission, &long("2"), Via::Link(&root)), Decision::Repeated);
    let longest = &long("")[..TrapLimits::default().url_bytes];
    admitted(&mut admission, longest, Via::Link(&root));
}

#[test]
fn a_url_that_is_too_deep_uses_no_trap_budget() {
    let (mut admission, root) = new_admission(|options| {
        options.settings.max_depth = Some(1);
        options.settings.traps.variants = 1;
    });
    let near = admitted(&mut admission, "http://site.test/near", Via::Link(&root));
    for n in 0..10 {
        let url = format!("http://site.test/?{n}");
        assert_eq!(admit(&mut admission, &url, Via::Link(&near)), Decision::TooDeep);
    }
    admitted(&mut admission, "http://site.test/?5", Via::Link(&root));
    let refused = admit(&mut admission, "http://site.test/?6", Via::Link(&root));
    assert!(matches!(refused, Decision::Refused { .. }), "{refused:?}");
    assert_eq!((admission.seen(), admission.too_deep()), (4, 8));
}

#[test]
fn the_first_referrers_are_remembered_and_all_are_counted() {
    let (mut admission, root) = new_admission(|_| ());
    let target = "http://site.test/target";
    admitted(&mut admission, target, Via::Link(&root));
    for n in 0..20 {
        let page = admitted(&mut admission, &format!("http://site.test/{n}"), Via::Link(&root));
        assert_eq!(admit(&mut admission, target, Via::Link(&page)), Decision::Known);
        assert_eq!(admit(&mut admission, target, Via::Link(&page)), Decision::Repeated);
    }
    let (first, count) = referrers(&admission, target);
    assert_eq!(count, 21);
    assert_eq!(first.len(), Admission::MAX_REFERRERS);
    assert_eq!(first[..2], ["http://site.test/", "http://site.test/0"]);
    assert_eq!(referrers(&admission, "http://site.test/nowhere"), (Vec::new(), 0));
}

#[test]
fn a_large_flat_site_is_no_trap() {
    let (mut admission, root) = new_admission(|_| ());
    let base = Url::parse(ROOT).unwrap();
    let mut base_url = web::BaseUrl::new(&base, encoding_rs::UTF_8);
    let mut page = root;
    // Each page is found on the one before, so the depth is at its maximum.
    for n in 0..100_000 {
        let address = base_url.join(&format!("/pages/{n}/")).unwrap();
        match admission.admit(address, Via::Link(&page)) {
            Decision::Admitted(job) => page = job,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(page.depth, 100_000);
}
