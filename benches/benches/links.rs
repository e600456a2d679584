//! How fast the links of a page are found: by the extractor of this workspace,
//! and by what one would use instead. `links/<page>/<subject>`.
#![allow(missing_docs)]

#[path = "subjects/links.rs"]
mod subjects;

use std::hint::black_box;

use benches::pages::documentation;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use scraper::Selector;
use subjects::{count_ours, html5ever, html5gum, lol_html, ours, scraper};

fn links(criterion: &mut Criterion) {
    let selector = Selector::parse("a[href]").unwrap();
    for (name, size) in [("8KB", 8 * 1024), ("60KB", 60 * 1024)] {
        let page = documentation(size);
        let expected = ours(&page);
        assert!(expected.len() >= size / 600);
        assert_eq!(scraper(&page, &selector), expected);
        assert_eq!(html5ever(&page), expected);
        assert_eq!(html5gum(&page), expected);
        let raw: Vec<_> = lol_html(&page).iter().map(|link| link.replace("&amp;", "&")).collect();
        assert_eq!(raw, expected);

        let mut group = criterion.benchmark_group(format!("links/{name}"));
        group.throughput(Throughput::Bytes(page.len() as u64));
        group.bench_function("ours", |b| b.iter(|| count_ours(black_box(&page))));
        group.bench_function("scraper", |b| b.iter(|| scraper(black_box(&page), &selector)));
        group.bench_function("html5ever", |b| b.iter(|| html5ever(black_box(&page))));
        group.bench_function("html5gum", |b| b.iter(|| html5gum(black_box(&page))));
        group.bench_function("lol_html", |b| b.iter(|| lol_html(black_box(&page))));
        group.finish();
    }
}

criterion_group!(benches, links);
criterion_main!(benches);
