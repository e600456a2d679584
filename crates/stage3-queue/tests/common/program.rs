//! The program, run against a site on this machine.
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any of this takes, unless it takes for ever.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub fn crawl() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawl"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // What a terminal wants is none of these tests' business.
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("CLICOLOR");
    command
}

/// Runs to the end.
pub fn run(arguments: &[&str]) -> Output {
    finish(crawl().args(arguments).spawn().unwrap())
}

/// Waits for the end, reading what is written meanwhile.
pub fn finish(child: Child) -> Output {
    let id = child.id();
    let reader = thread::spawn(move || child.wait_with_output().unwrap());
    let begun = Instant::now();
    while !reader.is_finished() {
        if begun.elapsed() > PATIENCE {
            let _ = Command::new("kill").args(["-9", &id.to_string()]).status();
            panic!("the process hangs");
        }
        thread::sleep(Duration::from_millis(5));
    }
    reader.join().unwrap()
}

pub fn wait(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("the process hangs");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}
