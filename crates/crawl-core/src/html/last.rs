//! What came before a slice.

/// The last bytes of what has come, up to three.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Last {
    bytes: [u8; 3],
    length: u8,
}

impl Last {
    pub(super) const NONE: Self = Self { bytes: [0; 3], length: 0 };

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[3 - usize::from(self.length.min(3))..]
    }

    /// More has come.
    pub(super) fn add(&mut self, more: &[u8]) {
        if let Some(last) = more.last_chunk() {
            *self = Self { bytes: *last, length: 3 };
            return;
        }
        for &byte in more {
            let [_, second, third] = self.bytes;
            *self = Self { bytes: [second, third, byte], length: 3.min(self.length + 1) };
        }
    }
}
