//! Selections in a build without the feature `select`: no selection can be made.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::FetchError;

/// The texts selected on a page, by the names of their selections.
pub type Selected = BTreeMap<Arc<str>, Vec<String>>;

/// A selection that cannot exist in this build.
#[derive(Clone, Debug)]
pub enum Selection {}

impl Selection {
    /// Refuses every selection.
    ///
    /// # Errors
    /// Returns an error always: this build cannot select.
    pub fn parse(_: &str) -> Result<Self, String> {
        Err("this build has no --select: it was built without the feature `select`".into())
    }

    /// Returns the text of the selection.
    pub fn as_str(&self) -> &str {
        match *self {}
    }
}

/// Selects nothing.
///
/// # Errors
/// None in this build.
pub fn select(_: &str, _: &[Selection]) -> Result<Selected, FetchError> {
    Ok(Selected::new())
}
