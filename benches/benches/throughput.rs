//! The bench `throughput`: the pages per second of each stage and of its
//! alternatives: `throughput/<workload>/<subject>`; one element is one page.
#![allow(clippy::unwrap_used, missing_docs)]

use std::io;
use std::time::Duration;

use benches::subjects::Subject;
use benches::workload::{WORKLOADS, Workload};
use benches::{Crawl, RESAMPLES, ServerProcess, SubjectProcess, figures, play_role_if_asked};
use criterion::{Criterion, Throughput};

fn throughput(criterion: &mut Criterion, workload: &Workload) -> io::Result<()> {
    let &Workload { name, mut site, max_tasks } = workload;
    if figures::is_test() {
        site.pages = 50;
    }
    let server = ServerProcess::start(site)?;
    let mut group = criterion.benchmark_group(format!("throughput/{name}"));
    group.throughput(Throughput::Elements(site.pages.into()));
    group.sample_size(10).warm_up_time(Duration::from_millis(200));
    group.measurement_time(Duration::from_secs(1));
    for subject in Subject::all().filter(|subject| subject.can_crawl(site)) {
        let mut process =
            SubjectProcess::start(Crawl::new(subject.name, &server, max_tasks, !site.is_html))?;
        group.bench_function(subject.name, |bencher| {
            bencher.iter_custom(|iterations| {
                (0..iterations).map(|_| process.run().unwrap().wall).sum()
            });
        });
    }
    group.finish();
    Ok(())
}

fn main() -> io::Result<()> {
    play_role_if_asked(None)?;
    let mut criterion = Criterion::default().nresamples(RESAMPLES).configure_from_args();
    for workload in &WORKLOADS {
        throughput(&mut criterion, workload)?;
    }
    criterion.final_summary();
    Ok(())
}
