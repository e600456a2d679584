//! The crawler on smol as a command-line program.

use std::process::ExitCode;

fn main() -> ExitCode {
    let about = "Crawls a website and reports every page, redirect and broken link, on smol.";
    cli::main(about, other_runtimes::on_smol::crawl)
}
