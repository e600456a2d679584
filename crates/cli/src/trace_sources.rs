//! The source files that events of a trace name, as they were when the program was
//! built; see `build.rs`.

/// Path in the workspace and text of each file.
pub(crate) const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/trace_sources.rs"));
