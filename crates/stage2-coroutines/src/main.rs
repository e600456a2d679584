//! Crawls a site with hand-made coroutines.

use std::process::ExitCode;

fn main() -> ExitCode {
    command_line::main(
        "Crawls a website with one coroutine per fetch, on one thread.",
        stage2_coroutines::crawl,
    )
}
