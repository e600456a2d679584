//! The characters that references stand for, in a build without the feature `tables`:
//! those that have a name in XML.

/// The characters by numbers of windows-1252: none.
pub(super) const C1_REPLACEMENTS: [Option<char>; 0] = [];

/// The characters by names, sorted by name.
pub(super) static NAMED_CHARACTERS: [(&str, &str); 5] =
    [("amp;", "&"), ("apos;", "'"), ("gt;", ">"), ("lt;", "<"), ("quot;", "\"")];
