//! Figures that criterion does not keep; `cargo xtask measurements` makes tables
//! of them.

use std::path::PathBuf;
use std::{env, fs, io};

use serde::Serialize;

/// Returns the folder `measurements` in the target folder of the running program.
///
/// # Errors
/// When it cannot be created.
pub fn folder() -> io::Result<PathBuf> {
    let program = env::current_exe()?;
    let is_profile = |folder: &&std::path::Path| folder.join("deps").is_dir();
    let profile = program.ancestors().find(is_profile).ok_or(io::ErrorKind::NotFound)?;
    let folder = profile.with_file_name("measurements");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Writes `figures` to `<name>.json` in this [`folder`], and returns the path of the file.
///
/// # Errors
/// When the file cannot be written.
pub fn keep(name: &str, figures: &impl Serialize) -> io::Result<PathBuf> {
    let path = folder()?.join(format!("{name}.json"));
    fs::write(&path, serde_json::to_vec_pretty(figures)?)?;
    Ok(path)
}

/// Returns true in `cargo bench -- --test`, which runs every bench once on a
/// small site, to show that it works.
pub fn is_test() -> bool {
    env::args().any(|argument| argument == "--test")
}

/// The median and the quartiles of some numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quartiles {
    /// A quarter of the numbers is below it.
    pub lower: f64,
    /// Half of the numbers is below it.
    pub median: f64,
    /// A quarter of the numbers is above it.
    pub upper: f64,
}

impl Quartiles {
    /// Computes the quartiles of at least one number.
    ///
    /// # Panics
    /// When there is none.
    pub fn of(numbers: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = numbers.collect();
        sorted.sort_by(f64::total_cmp);
        let at = |quarter: usize| {
            // Interpolates between two numbers.
            let position = quarter as f64 / 4.0 * (sorted.len() - 1) as f64;
            let (below, above) =
                (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
            below + (above - below) * position.fract()
        };
        Self { lower: at(1), median: at(2), upper: at(3) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_interpolated() {
        let of = |numbers: &[f64]| {
            let Quartiles { lower, median, upper } = Quartiles::of(numbers.iter().copied());
            [lower, median, upper]
        };
        assert_eq!(of(&[3.0]), [3.0, 3.0, 3.0]);
        assert_eq!(of(&[5.0, 1.0, 3.0, 2.0, 4.0]), [2.0, 3.0, 4.0]);
        assert_eq!(of(&[1.0, 2.0]), [1.25, 1.5, 1.75]);
    }
}
