//! The number of cases of a property.

use std::env;

/// Returns the number of cases that a property is tested with: the variable
/// `PROPTEST_CASES`, with which `.ci/soak` asks for many, or `quick` without it.
pub fn cases(quick: u32) -> u32 {
    env::var("PROPTEST_CASES").ok().and_then(|number| number.parse().ok()).unwrap_or(quick)
}
