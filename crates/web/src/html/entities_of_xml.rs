//! The characters that references stand for, in a build without the feature `tables`:
//! those that have a name in XML.

/// The characters by their names, behind which a zero stands for no second one.
const NAMES: [(&str, (u32, u32)); 5] = [
    ("amp;", ('&' as u32, 0)),
    ("apos;", ('\'' as u32, 0)),
    ("gt;", ('>' as u32, 0)),
    ("lt;", ('<' as u32, 0)),
    ("quot;", ('"' as u32, 0)),
];

/// The characters by numbers of windows-1252: none.
pub(super) const C1_REPLACEMENTS: [Option<char>; 0] = [];

/// The table of names.
pub(super) const NAMED_ENTITIES: Names = Names;

/// A table of names, which holds their beginnings as well.
pub(super) struct Names;

impl Names {
    /// Returns the characters with this name, and zeros for the beginning of one.
    pub(super) fn get(&self, name: &str) -> Option<&'static (u32, u32)> {
        let (known, characters) = NAMES.iter().find(|(known, _)| known.starts_with(name))?;
        Some(if *known == name { characters } else { &(0, 0) })
    }
}
