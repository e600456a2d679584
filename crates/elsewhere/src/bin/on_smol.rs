//! Crawls a site on smol.

use std::process::ExitCode;

fn main() -> ExitCode {
    let about = "Crawls a website and reports every page, redirect and broken link, on smol.";
    command_line::main(about, elsewhere::on_smol::crawl)
}
