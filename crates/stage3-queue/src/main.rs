//! Crawls a site, the way people keep.

use std::process::ExitCode;

fn main() -> ExitCode {
    command_line::main(
        "Crawls a website and reports every page, redirect and broken link.",
        stage3_queue::crawl,
    )
}
