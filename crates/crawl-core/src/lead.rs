//! What a journal has to know of a finished URL, to do without asking again.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{Address, Row};

/// One URL that another has led to, as the door was told of it.
///
/// What a journal keeps is what was put to the door, not what the door made of
/// it. Put to it once more, in the same order, it lets in the same URLs, knows
/// the same referrers and is as near to its limits as before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lead {
    /// The URL; from the path on, if it is of the same origin.
    pub to: String,
}

/// A finished URL, with all that is needed to finish it again in an instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished<'a> {
    /// What became of it.
    pub row: Cow<'a, Row>,
    /// How many redirects of its chain might still be followed.
    pub redirects_left: u32,
    /// What it has led to, in its order.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub leads: Cow<'a, [Lead]>,
}

fn is_empty(leads: &[Lead]) -> bool {
    leads.is_empty()
}

impl Lead {
    /// The lead from the URL `from` to an address.
    pub(crate) fn new(from: &str, address: Address<'_>) -> Self {
        let text = address.as_str();
        let path = from
            .strip_prefix(address.origin())
            .filter(|rest| rest.starts_with('/'))
            .map(|_| &text[address.origin().len()..])
            // Two slashes would begin a host.
            .filter(|path| !path.starts_with("//"));
        Self { to: path.unwrap_or(text).to_owned() }
    }
}
