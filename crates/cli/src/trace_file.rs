//! The file of a trace.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use trace::{Trace, Tracer, json};

use crate::trace_page::trace_page;

/// The source files that events of a trace name, as they were when the program was built (see
/// `build.rs`): path in the workspace, and text.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/trace_sources.rs"));

/// A file to which a trace is to be written: a page that shows it, if its name ends in
/// `.html`, and otherwise JSON.
#[derive(Debug)]
pub struct TraceFile {
    file: File,
    /// True for a page that shows the trace, and false for JSON.
    is_page: bool,
    tracer: Tracer,
}

impl TraceFile {
    /// Creates the file. Its old contents are replaced when the trace is written.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().create(true).write(true).truncate(false).open(path)?;
        let is_page = path.extension().is_some_and(|extension| extension == "html");
        Ok(Self { file, is_page, tracer: Tracer::new(Tracer::LIMIT) })
    }

    /// Has this thread write to the trace, until the guard is dropped.
    pub fn begin(&self) -> trace::EnterGuard {
        self.tracer.enter()
    }

    /// Writes the trace.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(self) -> io::Result<()> {
        // Pipes and devices have no contents to truncate.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        let mut out = BufWriter::new(self.file);
        let trace = self.tracer.take();
        if self.is_page {
            let mut json = Vec::new();
            write_json(&trace, &mut json)?;
            let title = format!("Trace of {}", program());
            let page = trace_page(&title, &String::from_utf8_lossy(&json));
            out.write_all(page.as_bytes())?;
        } else {
            write_json(&trace, &mut out)?;
        }
        out.flush()
    }
}

/// Writes a trace as JSON.
fn write_json(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    let program = format!("{} {}", program(), env!("CARGO_PKG_VERSION"));
    let about =
        json::About { stage: &stage(), program: &program, sources: SOURCES, function: &function };
    json::write(trace, &about, out)
}

/// Returns the place of a callback in the sources of stage 1, the only one that has
/// callbacks.
fn function(name: &str) -> Option<(&'static str, usize)> {
    let head = format!("fn {name}(");
    SOURCES.iter().filter(|(path, _)| path.starts_with("crates/stage1")).find_map(|(path, text)| {
        let line = text.lines().position(|line| line.contains(&head))?;
        Some((*path, line + 1))
    })
}

/// Returns the name of this program.
fn program() -> String {
    let file = std::env::args_os().next();
    let stem = file.as_deref().map(Path::new).and_then(Path::file_stem);
    stem.map_or_else(|| "crawl".into(), |stem| stem.to_string_lossy().into_owned())
}

/// Returns the stage of this program. The tool is the last one.
fn stage() -> String {
    let program = program();
    let stage = program.split('-').next().filter(|name| name.starts_with("stage"));
    stage.unwrap_or("stage3").to_owned()
}
