//! Adds files to the seeds of a target: `cargo run --example seeds -- TARGET FILE...`. A seed
//! of the same name is replaced.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use fuzz::{TARGETS, seeds};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let target = arguments.next().unwrap_or_default();
    if !TARGETS.iter().any(|(name, _)| *name == target) {
        return Err("usage: cargo run --example seeds -- TARGET FILE...".into());
    }
    let mut all = seeds::read(&target)?;
    for file in arguments {
        let name = Path::new(&file).file_name().ok_or("a file has a name")?;
        all.insert(name.to_string_lossy().into_owned(), fs::read(&file)?);
    }
    Ok(seeds::write(&target, &all)?)
}
