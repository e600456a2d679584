//! The program `stage0-threads`: crawls a site with one blocking fetch per
//! thread.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main("Crawls a site, one blocking fetch per thread", stage0_threads::crawl)
}
