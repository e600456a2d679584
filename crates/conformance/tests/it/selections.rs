//! Selections: the texts and attributes that a user names by CSS selectors, and that the
//! crawl takes from every page. Stages differ in how they wait, so they select the same.

use std::collections::BTreeMap;
use std::process::Command;

use crawl_core::Outcome;
use serde_json::Value;
use test_support::programs::programs;
use web::select::Selection;

use crate::common::{Stage, demo_site, expect_all_of, options};

const SELECTIONS: [&str; 3] = ["title=title", "first=li:first-child a@href", "none=p.no-such"];

#[test]
fn all_stages_report_the_same_selections() {
    let rows = Stage::ALL.map(|stage| {
        let site = demo_site(100, |site| site.special_cases = true);
        let mut options = options(site.root());
        options.settings.select = SELECTIONS.map(|text| Selection::parse(text).unwrap()).into();
        let crawled = stage.crawl(options);
        expect_all_of(&site, &crawled);
        for row in crawled.rows().values() {
            assert_eq!(row.selected.is_some(), row.outcome == Outcome::Page, "{row:?}");
        }
        let selected = crawled.row("/page/7").selected.as_ref().unwrap();
        assert_eq!(selected["title"], ["Page 7"], "{stage:?}");
        assert_eq!(selected["first"].len(), 1, "{stage:?}");
        assert!(selected["none"].is_empty(), "{stage:?}");
        let rows = crawled.rows().values().map(|row| {
            let path = row.url.replace(&site.url(""), "");
            (path, crawled.comparable(row), row.selected.clone())
        });
        rows.collect::<Vec<_>>()
    });
    let [first, others @ ..] = rows;
    for other in others {
        assert_eq!(first, other);
    }
}

#[test]
fn the_programs_of_all_stages_have_the_flag() {
    let site = demo_site(20, |_| {});
    let programs =
        programs(["stage0-threads", "stage1-callbacks", "stage2-coroutines", "stage3-queue"]);
    let selected = programs.map(|program| {
        let mut command = Command::new(program);
        command.args(["--format", "jsonl"]);
        command.args(SELECTIONS.iter().flat_map(|selection| ["--select", selection]));
        let output = command.arg(site.root()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        let rows = stdout.lines().map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            (row["url"].as_str().unwrap().to_owned(), row["selected"].clone())
        });
        rows.collect::<BTreeMap<_, _>>()
    });
    let [first, others @ ..] = selected;
    assert_eq!(first.len(), 20);
    assert_eq!(first[&site.url("/page/7")]["title"], serde_json::json!(["Page 7"]));
    for other in others {
        assert_eq!(first, other);
    }
}
