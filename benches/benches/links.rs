//! The bench `links`: the speed of link extraction, by the extractor of this
//! workspace and by its alternatives: `links/<page>/<subject>`.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "subjects/links.rs"]
mod subjects;

use std::hint::black_box;
use std::time::Duration;

use benches::RESAMPLES;
use benches::pages::documentation;
use crawl_core::{Admission, Decision, Job, Options, Via};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use encoding_rs::UTF_8;
use scraper::Selector;
use subjects::{html5ever, html5gum, lol_html, ours, ours_whole, scraper};
use url::Url;
use web::links::{ExtractOptions, LinkExtractor};
use web::{Address, BaseUrl};

fn links_of(page: &str) -> Vec<String> {
    let mut extractor = LinkExtractor::new(ExtractOptions::default());
    extractor.feed(page.as_bytes());
    extractor.finish().links().map(|link| link.href.to_owned()).collect()
}

fn links(criterion: &mut Criterion) {
    let selector = Selector::parse("a[href]").unwrap();
    let lol_html_selector = "a[href]".parse().unwrap();
    for (name, size) in [("8KB", 8 * 1024), ("60KB", 60 * 1024)] {
        let page = documentation(size);
        let expected = links_of(&page);
        assert!(expected.len() >= size / 600);
        assert_eq!(scraper(&page, &selector), expected);
        assert_eq!(html5ever(&page), expected);
        assert_eq!(html5gum(&page), expected);
        let raw = lol_html(&page, &lol_html_selector);
        let decoded: Vec<_> = raw.iter().map(|link| link.replace("&amp;", "&")).collect();
        assert_eq!(decoded, expected);

        let mut group = criterion.benchmark_group(format!("links/{name}"));
        group.throughput(Throughput::Bytes(page.len() as u64));
        group.warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
        group.bench_function("ours", |b| b.iter(|| ours(black_box(&page))));
        group.bench_function("ours-whole", |b| b.iter(|| ours_whole(black_box(&page))));
        group.bench_function("scraper", |b| b.iter(|| scraper(black_box(&page), &selector)));
        group.bench_function("html5ever", |b| b.iter(|| html5ever(black_box(&page))));
        group.bench_function("html5gum", |b| b.iter(|| html5gum(black_box(&page))));
        group.bench_function("lol_html", |b| {
            b.iter(|| lol_html(black_box(&page), &lol_html_selector));
        });
        group.finish();
    }
}

/// Measures the join of a page's links with its URL and their admission: the time
/// per link, when all links are known, and when all are new.
fn admission(criterion: &mut Criterion) {
    let page = documentation(8 * 1024);
    let mut extractor = LinkExtractor::new(ExtractOptions::default());
    extractor.feed(page.as_bytes());
    let found = extractor.finish();
    let url = Url::parse("http://site.test/manual/index.html").unwrap();
    let options = Options::new(vec![url.clone()]);
    let links = found.links().len() as u64;

    let mut group = criterion.benchmark_group("links/admission");
    group.throughput(Throughput::Elements(links));
    group.warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
    let first_admission = || {
        let mut admission = Admission::new(&options);
        let Decision::Admitted(root) = admission.admit(Address::of(&url).unwrap(), Via::Root)
        else {
            panic!("a root is let in")
        };
        (admission, root)
    };
    let admit = |(admission, root): &mut (Admission, Job)| {
        let mut base = BaseUrl::new(&url, UTF_8);
        for link in found.links() {
            let address = base.join(black_box(link.href)).unwrap();
            black_box(admission.admit(address, Via::Link(root)));
        }
    };
    group.bench_function("known", |b| {
        let mut admission = first_admission();
        admit(&mut admission);
        assert!(admission.0.seen() > 20);
        b.iter(|| admit(&mut admission));
    });
    group.bench_function("new", |b| {
        b.iter_batched_ref(first_admission, |admission| admit(admission), BatchSize::SmallInput);
    });
    group.finish();
}

criterion_group!(
    name = benches;
    config = Criterion::default().nresamples(RESAMPLES);
    targets = links, admission
);
criterion_main!(benches);
