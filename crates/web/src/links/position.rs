//! Lines and columns of offsets in a page.

/// A position in the text of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The number of the line, from 1 on. Lines beyond 4,294,967,295 have this
    /// number.
    pub line: u32,
    /// The column, counted in characters from 1 on.
    pub column: u32,
}

/// Counter of lines and characters while a page arrives.
#[derive(Debug)]
pub(super) struct LineCounter {
    /// The offset up to which everything is counted.
    offset: u64,
    /// The position of that offset.
    position: Position,
}

impl LineCounter {
    pub(super) fn new() -> Self {
        Self { offset: 0, position: Position { line: 1, column: 1 } }
    }

    /// Returns the position of the byte at `offset`. The offset must be in the
    /// slice that begins at `slice_at` or at its end, and not before the offset of
    /// an earlier call.
    pub(super) fn position(&mut self, slice: &[u8], slice_at: u64, offset: u64) -> Position {
        let within = |offset: u64| usize::try_from(offset - slice_at).unwrap_or(usize::MAX);
        let passed = &slice[within(self.offset)..within(offset)];
        self.offset = offset;
        let mut line = passed;
        if let Some(last) = memchr::memrchr(b'\n', passed) {
            let lines = u32::try_from(bytecount::count(passed, b'\n')).unwrap_or(u32::MAX);
            self.position.line = self.position.line.saturating_add(lines);
            self.position.column = 1;
            line = &passed[last + 1..];
        }
        let characters = u32::try_from(bytecount::num_chars(line)).unwrap_or(u32::MAX);
        self.position.column = self.position.column.saturating_add(characters);
        self.position
    }
}
