//! The cost of a thousand waiting threads: memory and time. The memory is read
//! from `/proc`, so it is shown on Linux only.
#![allow(clippy::print_stdout)]

use std::fs;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;

const THREADS: usize = 1000;

fn main() {
    // The first thread of a process costs more than those after it.
    wait_in_threads(1);
    let before = memory();
    let begun = Instant::now();
    let during = wait_in_threads(THREADS);
    let elapsed = begun.elapsed();
    println!("{THREADS} threads that wait, for each of them:");
    for ((what, before), (_, during)) in before.iter().zip(during) {
        let kib = before.zip(during).map(|(before, during)| during.saturating_sub(before));
        let each = kib.map(|kib| format!("{:.1} KiB", kib as f64 / THREADS as f64));
        println!("  {what:<24} {:>11}", each.unwrap_or_else(|| "n/a".into()));
    }
    let micros = elapsed.as_micros() as f64 / THREADS as f64;
    println!("  {:<24} {micros:>8.1} us", "to start and to end it");
}

// ANCHOR: wait
/// Starts `count` threads that each wait for one message, measures the memory
/// while they wait, and ends them.
fn wait_in_threads(count: usize) -> [(&'static str, Option<u64>); 3] {
    let (ready, all_ready) = channel();
    let mut waiting = Vec::new();
    for _ in 0..count {
        let ready = ready.clone();
        let (message, messages) = channel::<()>();
        let thread = thread::spawn(move || {
            let _ = ready.send(());
            let _ = messages.recv(); // blocks
        });
        waiting.push((message, thread));
    }
    all_ready.iter().take(count).for_each(drop);
    let memory = memory();
    for (message, thread) in waiting {
        drop(message);
        let _ = thread.join();
    }
    memory
}
// ANCHOR_END: wait

/// Returns the memory of this process in KiB, by kind.
fn memory() -> [(&'static str, Option<u64>); 3] {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        value.trim().trim_end_matches(" kB").parse().ok()
    };
    [
        ("addresses reserved", field("VmSize")),
        ("memory in use", field("VmRSS")),
        ("the kernel's page tables", field("VmPTE")),
    ]
}
