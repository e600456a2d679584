//! A run of a program within a time limit: its time, its CPU time and memory with those of
//! all processes that it starts, and its output.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The time limit of a run.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// The exit codes of `timeout` if the limit was reached: the program has obeyed its
/// signal, or had to be killed.
const TIMED_OUT: [i32; 2] = [124, 137];
/// The pause between two looks at the memory.
const PAUSE: Duration = Duration::from_millis(5);
/// The shell's own account of a child, by `wait4`: seconds in all, in user code and in the
/// kernel, those of processes that the child has started and waited for included. In the
/// foreground, `timeout` kills the program and not itself, and so can wait for it.
const SCRIPT: &str =
    "TIMEFORMAT='%3R %3U %3S'; time timeout --foreground --kill-after=5 \"$@\" >stdout 2>stderr";

/// A run of a program: its costs, and its output.
#[derive(Debug)]
pub(super) struct Run {
    /// Seconds.
    pub(super) wall: f64,
    /// Seconds in user code and in the kernel.
    pub(super) cpu: f64,
    /// The peak of resident memory in bytes, summed over the processes.
    pub(super) memory: f64,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// The run was ended at the limit.
    pub(super) timed_out: bool,
}

impl Run {
    /// Returns the number of lines that a user sees.
    pub(super) fn lines(&self) -> usize {
        self.stdout.lines().count() + self.stderr.lines().count()
    }
}

/// Runs a command in a folder, which is its home, too.
///
/// # Errors
/// When it cannot be started, or its output not read.
pub(super) fn run(command: &[String], folder: &Path, limit: Duration) -> io::Result<Run> {
    let times = folder.join("times");
    let mut shell = Command::new("bash")
        .args(["-c", SCRIPT, "time", &limit.as_secs().to_string()])
        .args(command)
        .current_dir(folder)
        .envs([("HOME", folder.as_os_str()), ("LC_ALL", "C.UTF-8".as_ref())])
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stderr(File::create(&times)?)
        .process_group(0)
        .spawn()?;
    let (id, ended) = (shell.id(), AtomicBool::new(false));
    let (status, memory) = thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut peak = 0;
            while !ended.load(Ordering::Relaxed) {
                peak = peak.max(memory_below(id));
                thread::sleep(PAUSE);
            }
            peak
        });
        let status = shell.wait();
        ended.store(true, Ordering::Relaxed);
        // What the program has started and left behind; mostly there is nothing.
        let group = format!("-{id}");
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        (status, watch.join().unwrap_or(0))
    });
    let read = |name: &str| {
        Ok::<_, io::Error>(String::from_utf8_lossy(&fs::read(folder.join(name))?).into_owned())
    };
    let times = read("times")?;
    let last = times.lines().next_back().unwrap_or_default();
    let seconds: Vec<f64> = last.split(' ').filter_map(|number| number.parse().ok()).collect();
    let [wall, user, system] = seconds[..] else {
        return Err(io::Error::other(format!("bash gave no times: {times}")));
    };
    Ok(Run {
        wall,
        cpu: user + system,
        memory: memory as f64,
        stdout: read("stdout")?,
        stderr: read("stderr")?,
        timed_out: wall >= limit.as_secs_f64()
            && status?.code().is_some_and(|code| TIMED_OUT.contains(&code)),
    })
}

/// Returns the peaks of resident memory of all processes that this one has started, but for
/// `timeout`, in bytes.
fn memory_below(id: u32) -> u64 {
    let read = |id: u32, file: &str| fs::read_to_string(format!("/proc/{id}/{file}"));
    let children = read(id, &format!("task/{id}/children")).unwrap_or_default();
    let of = |child: u32| {
        let status = read(child, "status").unwrap_or_default();
        let peak = status.lines().find_map(|line| {
            line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        });
        let own = if status.starts_with("Name:\ttimeout\n") { 0 } else { peak.unwrap_or(0) * 1024 };
        own + memory_below(child)
    };
    children.split_whitespace().filter_map(|child| child.parse().ok()).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Run {
        let folder = tempfile::tempdir().unwrap();
        run(&["bash", "-c", script].map(str::to_owned), folder.path(), limit).unwrap()
    }

    #[test]
    fn time_cpu_and_memory_of_all_processes_are_counted() {
        let child = "i=0; while ((i < 200000)); do ((i += 1)); done; sleep 0.2";
        let ran = shell(&format!("echo said; echo more >&2; bash -c '{child}'; exit 3"), LIMIT);
        assert_eq!(
            (ran.stdout.as_str(), ran.stderr.as_str(), ran.lines()),
            ("said\n", "more\n", 2)
        );
        assert!(ran.cpu > 0.05 && ran.wall > ran.cpu && !ran.timed_out, "{ran:?}");
        // Two shells.
        assert!(ran.memory > 4e6, "{ran:?}");
    }

    #[test]
    fn a_run_ends_at_its_limit() {
        let ran = shell("echo said; sleep 60", Duration::from_secs(1));
        assert!(ran.timed_out && ran.wall < 30.0, "{ran:?}");
        assert_eq!(ran.stdout, "said\n");
    }

    #[test]
    fn a_run_that_has_to_be_killed_has_timed_out_and_its_cpu_counts() {
        let ran = shell("trap '' TERM; while :; do :; done", Duration::from_secs(1));
        assert!(ran.timed_out && ran.cpu > 0.05, "{ran:?}");
    }
}
