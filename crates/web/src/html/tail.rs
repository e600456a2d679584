//! The last bytes of earlier slices.

/// The last bytes of the input so far, up to three.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tail {
    bytes: [u8; 3],
    length: u8,
}

impl Tail {
    pub(super) const NONE: Self = Self { bytes: [0; 3], length: 0 };

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[3 - usize::from(self.length.min(3))..]
    }

    /// Appends input, of which the last bytes are kept.
    pub(super) fn add(&mut self, more: &[u8]) {
        if let Some(tail) = more.last_chunk() {
            *self = Self { bytes: *tail, length: 3 };
            return;
        }
        for &byte in more {
            let [_, second, third] = self.bytes;
            *self = Self { bytes: [second, third, byte], length: 3.min(self.length + 1) };
        }
    }
}
