//! The characters that references stand for, by names and by numbers of windows-1252.

pub(super) use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};
