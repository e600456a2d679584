//! The seeds of the targets: inputs written by hand, with which a fuzzer begins. Each target
//! has one tar archive, `seeds/TARGET.tar`, whose files are the seeds.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tar::{Archive, Builder, Header};

/// Seeds by name.
pub type Seeds = BTreeMap<String, Vec<u8>>;

/// Reads the seeds of a target.
///
/// # Errors
/// When the archive is missing or cannot be read.
pub fn read(target: &str) -> io::Result<Seeds> {
    let mut archive = Archive::new(File::open(path(target))?);
    let mut seeds = Seeds::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.display().to_string();
        let mut seed = Vec::new();
        entry.read_to_end(&mut seed)?;
        seeds.insert(name, seed);
    }
    Ok(seeds)
}

/// Writes all seeds of a target. The archive depends on their names and contents only, so
/// that one that has not changed is the same file, byte for byte.
///
/// # Errors
/// When the archive cannot be written.
pub fn write(target: &str, seeds: &Seeds) -> io::Result<()> {
    let mut archive = Builder::new(Vec::new());
    for (name, seed) in seeds {
        let mut header = Header::new_ustar();
        header.set_size(seed.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, &seed[..])?;
    }
    fs::write(path(target), archive.into_inner()?)
}

fn path(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(format!("{target}.tar"))
}
