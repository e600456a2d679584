//! The crawler on tokio as a command-line program.

use std::process::ExitCode;

fn main() -> ExitCode {
    let about = "Crawls a website and reports every page, redirect and broken link, on tokio.";
    cli::main(about, other_runtimes::on_tokio::crawl)
}
