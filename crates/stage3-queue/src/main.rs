//! The program of stage 3: a crawler on a queue, with the flags of all stages.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main("Crawls a site with workers around a queue.", stage3_queue::crawl)
}
