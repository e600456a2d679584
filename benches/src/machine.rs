//! What the operating system knows of this process. Linux only: elsewhere
//! nobody is pinned, and nothing is known.

use std::time::Duration;

/// Who runs where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Core {
    /// For those who are measured.
    First,
    /// For those who serve them.
    Second,
}

/// Keeps this thread, and all that it starts from now on, on one core, if
/// there are two. What it may not do is left undone.
#[cfg(target_os = "linux")]
pub fn pin(core: Core) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    let Ok(allowed) = sched_getaffinity(None) else { return };
    let mut cores = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
    if let (Some(first), Some(second)) = (cores.next(), cores.next()) {
        let mut only = CpuSet::new();
        only.set(if core == Core::First { first } else { second });
        // Then the system decides, as it does for most programs.
        let _ = sched_setaffinity(None, &only);
    }
}

/// The CPU time that this process has had so far, in its own code and in the
/// system's on its behalf.
#[cfg(target_os = "linux")]
pub fn cpu_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap_or_default()
}

/// A figure of `/proc/self/status`, in bytes.
#[cfg(target_os = "linux")]
pub(crate) fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Does nothing here.
#[cfg(not(target_os = "linux"))]
pub fn pin(_core: Core) {}

/// Not known here.
#[cfg(not(target_os = "linux"))]
pub fn cpu_time() -> Duration {
    Duration::ZERO
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn status(_name: &str) -> u64 {
    0
}
