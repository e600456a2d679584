//! Crawls a site on tokio.

use std::process::ExitCode;

fn main() -> ExitCode {
    let about = "Crawls a website and reports every page, redirect and broken link, on tokio.";
    command_line::main(about, elsewhere::on_tokio::crawl)
}
