//! The program `stage1-callbacks`: crawls a site with callbacks.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main("Crawls a website with callbacks, on one thread.", stage1_callbacks::crawl)
}
