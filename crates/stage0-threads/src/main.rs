//! `stage0-threads URL`: crawls a site with one blocking fetch per thread.

use std::process::ExitCode;

fn main() -> ExitCode {
    command_line::main("Crawls a site, one blocking fetch per thread", stage0_threads::crawl)
}
