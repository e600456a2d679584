//! The registrable domain of a name, by the public suffix list.

/// Returns the registrable domain of a name in lowercase: its public suffix and the
/// label before that; nothing if there is no such label.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn domain_str(name: &str) -> Option<&str> {
    psl2::lookup(name)?.registrable_domain()
}

/// Returns the last two labels of a name. The list would be half of a program for a
/// browser, where no names of the real network are fetched.
#[cfg(target_family = "wasm")]
pub(crate) fn domain_str(name: &str) -> Option<&str> {
    let (front, _) = name.rsplit_once('.')?;
    Some(front.rsplit_once('.').map_or(name, |(before, _)| &name[before.len() + 1..]))
}
