//! CPU pinning, CPU time and memory of this process, by the operating system. On
//! systems other than Linux nothing is pinned, and all figures are zero.

use std::time::Duration;

/// A core to pin a process to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Core {
    /// The core of the subjects, which are measured.
    First,
    /// The core of the server.
    Second,
}

/// Pins this thread, and all threads that it starts from now on, to one core, if
/// there are two. An error is ignored.
#[cfg(target_os = "linux")]
pub fn pin(core: Core) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    let Ok(allowed) = sched_getaffinity(None) else { return };
    let mut cores = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
    if let (Some(first), Some(second)) = (cores.next(), cores.next()) {
        let mut only = CpuSet::new();
        only.set(if core == Core::First { first } else { second });
        // On an error, the system chooses the core.
        let _ = sched_setaffinity(None, &only);
    }
}

/// Returns the CPU time of this process so far, in user code and in the kernel.
#[cfg(target_os = "linux")]
pub fn cpu_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap_or_default()
}

/// Returns the resident memory of this process, in bytes.
pub fn resident() -> u64 {
    status("self", "VmRSS")
}

/// Returns the peak of the resident memory of a running process so far, in bytes.
pub fn peak_memory(process: u32) -> u64 {
    status(&process.to_string(), "VmHWM")
}

/// Returns a figure of `/proc/<process>/status`, in bytes.
#[cfg(target_os = "linux")]
pub(crate) fn status(process: &str, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Returns how often the threads of a process have fallen asleep so far, each time to
/// be woken from outside.
#[cfg(target_os = "linux")]
pub(crate) fn times_asleep(process: u32) -> u64 {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else { return 0 };
    let times = threads.flatten().filter_map(|thread| {
        let status = std::fs::read_to_string(thread.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse::<u64>().ok()
    });
    times.sum()
}

/// Does nothing on this system.
#[cfg(not(target_os = "linux"))]
pub fn pin(_core: Core) {}

/// Returns zero: not known on this system.
#[cfg(not(target_os = "linux"))]
pub fn cpu_time() -> Duration {
    Duration::ZERO
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn status(_process: &str, _name: &str) -> u64 {
    0
}

/// Returns zero: not known on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn times_asleep(_process: u32) -> u64 {
    0
}
