//! Crawls a site with callbacks.

use std::process::ExitCode;

fn main() -> ExitCode {
    command_line::main("Crawls a website with callbacks, on one thread.", stage1_callbacks::crawl)
}
