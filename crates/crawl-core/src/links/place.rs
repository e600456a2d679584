//! Offsets to lines and columns.

/// A place in the text of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The first line is 1; past 4,294,967,295, lines count as this one.
    pub line: u32,
    /// The first character of a line is in column 1.
    pub column: u32,
}

/// Counts lines and characters while a page goes by.
#[derive(Debug)]
pub(super) struct Lines {
    counted: u64,
    here: Place,
}

impl Lines {
    pub(super) fn new() -> Self {
        Self { counted: 0, here: Place { line: 1, column: 1 } }
    }

    /// The place of the byte at `offset`, which is in the slice that begins at
    /// `slice_at`, or at its end, and not before the last one asked for.
    pub(super) fn place(&mut self, slice: &[u8], slice_at: u64, offset: u64) -> Place {
        let within = |offset: u64| usize::try_from(offset - slice_at).unwrap_or(usize::MAX);
        let passed = &slice[within(self.counted)..within(offset)];
        self.counted = offset;
        let mut line = passed;
        if let Some(last) = memchr::memrchr(b'\n', passed) {
            let lines = memchr::memchr_iter(b'\n', passed).count();
            let lines = u32::try_from(lines).unwrap_or(u32::MAX);
            self.here.line = self.here.line.saturating_add(lines);
            self.here.column = 1;
            line = &passed[last + 1..];
        }
        let characters = u32::try_from(characters(line)).unwrap_or(u32::MAX);
        self.here.column = self.here.column.saturating_add(characters);
        self.here
    }
}

/// How many characters UTF-8 has: the bytes that begin one. As many at a time
/// as one byte can count, which the compiler makes 16 at a time of.
fn characters(text: &[u8]) -> usize {
    let begins = |byte: &u8| u8::from(byte & 0xc0 != 0x80);
    text.chunks(255).map(|chunk| usize::from(chunk.iter().map(begins).sum::<u8>())).sum()
}
