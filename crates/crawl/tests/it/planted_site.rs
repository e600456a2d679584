//! The site with planted faults of every kind: `crawl` without a flag reports each of
//! them, and nothing else.

use std::collections::BTreeSet;

use demo_site::planted::{self, EXTERNAL, FRAGMENTS, PLANTS, Plant};
use demo_site::scripted::Server;

use crate::program::{Running, program};

/// Returns the targets in a report, as they are planted: without the address of the site.
fn targets<'a>(report: &'a str, site: &str) -> BTreeSet<&'a str> {
    let lines = report.lines().filter(|line| !line.starts_with([' ', 'C']));
    let target = |line: &'a str| line.split_once("  ").map(|(_, target)| target);
    lines.filter_map(target).map(|target| target.strip_prefix(site).unwrap_or(target)).collect()
}

#[test]
fn every_planted_fault_is_reported_and_nothing_else() {
    let server = planted::start().unwrap();
    let output = Running::start(program(&[&server.url("/")])).wait().expect_code(1);
    let found = targets(&output.stdout, &server.url(""));
    let expected: BTreeSet<&str> = PLANTS.iter().filter_map(|plant| plant.fault).collect();
    let plant_of = |fault: &&&str| PLANTS.iter().find(|plant| plant.fault == Some(fault));
    let missed: Vec<&Plant> = expected.difference(&found).filter_map(|f| plant_of(&f)).collect();
    let wrong: Vec<_> = found.difference(&expected).collect();
    assert!(missed.is_empty() && wrong.is_empty(), "missed {missed:#?}\nwrong {wrong:#?}");
    let hits = server.all_hits();
    let asked: Vec<_> = hits.keys().filter(|path| path.starts_with("/never/")).collect();
    assert_eq!(asked, Vec::<&String>::new(), "they name no document");
    assert_eq!(output.stderr, "");
}

/// Fragments are looked for if they are wanted, and then all other faults are as well.
#[test]
fn every_planted_fragment_is_reported_if_fragments_are_checked() {
    let server = planted::start().unwrap();
    let arguments = ["--check", "+fragments", &*server.url("/")];
    let output = Running::start(program(&arguments)).wait().expect_code(1);
    let expected = PLANTS.iter().chain(FRAGMENTS).filter_map(|plant| plant.fault);
    assert_eq!(targets(&output.stdout, &server.url("")), expected.collect());
}

#[test]
fn every_planted_fault_of_another_host_is_reported_with_external() {
    let other = planted::start().unwrap();
    let page = EXTERNAL.replace("OTHER", &other.url(""));
    let site = Server::start(move |_, reply| reply.page(&page)).unwrap();
    let root = site.url("/");
    Running::start(program(&[&root])).wait().expect_code(0);
    assert_eq!(other.requests(), 0);
    let output = Running::start(program(&["--external", &root])).wait().expect_code(1);
    let expected = ["/gone/a", "/gone/img.png", "/gone/moved"];
    assert_eq!(targets(&output.stdout, &other.url("")), expected.into());
}

/// There are enough plants, and no two can be taken for each other.
#[test]
fn there_are_faults_and_what_looks_like_them() {
    let plants = || (0..planted::COUNT).filter_map(planted::plant);
    let names: BTreeSet<&str> = plants().map(|plant| plant.name).collect();
    assert_eq!((names.len(), plants().count()), (planted::COUNT, planted::COUNT));
    let faults: Vec<&str> = plants().flat_map(Plant::names).collect();
    assert_eq!(faults.iter().collect::<BTreeSet<_>>().len(), faults.len());
    let count = PLANTS.iter().filter(|plant| plant.fault.is_some()).count();
    assert!(count >= 40 && PLANTS.len() - count >= 20);
}

/// A part of the plants can be served alone, for a checker that crashes at another part.
#[test]
fn a_part_of_the_site_has_its_own_faults_only() {
    let numbers = 0..5;
    let server = planted::start_with(numbers.clone()).unwrap();
    let output = Running::start(program(&[&server.url("/")])).wait().expect_code(1);
    let expected = numbers.filter_map(|number| planted::plant(number)?.fault);
    assert_eq!(targets(&output.stdout, &server.url("")), expected.collect());
}
