//! Tests of the whole crawler on simulated sites, and of small programs in many orders: a
//! few of each, and `.ci/run` and `.ci/soak` have more.
#![allow(clippy::unwrap_used)]

mod scale;

use simulation::{SEEDS, Totals, run, run_orders, run_with_early_task_done, write_trace};

/// Runs the sites of these seeds.
fn simulate(seeds: std::ops::Range<u64>) -> Totals {
    let mut totals = Totals::default();
    for seed in seeds {
        match run(seed, None) {
            Ok(run) => totals.add(&run),
            Err(what) => panic!("cargo run --release -p simulation -- {seed}\n{what}"),
        }
    }
    totals
}

#[test]
fn a_few_sites_hold_all_that_must_hold() {
    let totals = simulate(0..60);
    assert!(totals.crawls > totals.sites && totals.rows > 1_000, "{totals:?}");
}

#[test]
fn a_seed_is_the_same_run_each_time() {
    for seed in 0..20 {
        assert_eq!(run(seed, None).unwrap(), run(seed, None).unwrap(), "{seed}");
    }
}

#[test]
fn a_run_has_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let texts = [0, 1].map(|n| {
        let file = folder.path().join(format!("{n}.json"));
        write_trace(&file, || drop(run(3, None))).unwrap();
        std::fs::read_to_string(file).unwrap()
    });
    assert!(texts[0].contains("\"name\":\"fetch\""));
    assert!(texts[0] == texts[1], "two runs of a seed have different traces");
}

#[test]
fn small_programs_go_well_in_all_orders() {
    for seed in 0..300 {
        run_orders(seed).unwrap_or_else(|what| panic!("--orders {seed}: {what}"));
    }
}

/// The bug of the lab `early-task-done`, in a program with more than one worker, where it
/// is a matter of order.
#[test]
fn work_that_is_handed_back_too_early_is_found() {
    assert!((0..SEEDS).any(|seed| run_with_early_task_done(seed).is_err()));
}
