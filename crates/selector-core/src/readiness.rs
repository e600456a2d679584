//! Readiness of a socket, and the interest of the waiter under its key.

use std::ops::BitOr;

// ANCHOR: readiness
/// The operations that are known not to block on a socket. The bits are sticky:
/// they stay set until the owner, having met `WouldBlock` or a short read, clears
/// them. The end of reading cannot be cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness(u8);

impl Readiness {
    /// Nothing is known to be possible.
    pub const NONE: Self = Self(0);
    /// A read may give bytes, an end or an error.
    pub const READABLE: Self = Self(1);
    /// A write may take bytes or give an error; a connect has ended.
    pub const WRITABLE: Self = Self(2);
    /// The peer has closed its side, or the connection has failed. What was sent
    /// before may still be waiting to be read.
    pub const READ_CLOSED: Self = Self(4);
    // ANCHOR_END: readiness

    /// Returns true if all bits of `other` are set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true if a waiter with this interest can be called.
    pub fn satisfies(self, interest: Interest) -> bool {
        self.0 & interest.bits().0 != 0
    }

    /// Returns the bits without those of `interest`. The end of reading stays:
    /// it never goes away.
    pub(crate) fn without(self, interest: Interest) -> Self {
        Self(self.0 & !interest.bits().0 | self.0 & Self::READ_CLOSED.0)
    }
}

impl BitOr for Readiness {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

// ANCHOR: interest
/// The direction that a waiter waits for: the chapter's `EVENT_READ` and
/// `EVENT_WRITE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Bytes, the end of the stream, or an error.
    Readable,
    /// Room for bytes, an established connection, or an error.
    Writable,
}
// ANCHOR_END: interest

impl Interest {
    const fn bits(self) -> Readiness {
        match self {
            // The end wakes a reader like bytes do: the read finds out.
            Self::Readable => Readiness(Readiness::READABLE.0 | Readiness::READ_CLOSED.0),
            Self::Writable => Readiness::WRITABLE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clearing_one_direction_keeps_the_other_and_the_end() {
        let all = Readiness::READABLE | Readiness::WRITABLE | Readiness::READ_CLOSED;
        let left = all.without(Interest::Readable);
        assert_eq!(left, Readiness::WRITABLE | Readiness::READ_CLOSED);
        assert!(left.satisfies(Interest::Readable), "there is an end to be read");
        assert!(left.satisfies(Interest::Writable));
        assert!(!Readiness::WRITABLE.satisfies(Interest::Readable));
        let left = all.without(Interest::Writable);
        assert_eq!(left, Readiness::READABLE | Readiness::READ_CLOSED);
    }

    #[test]
    fn a_bit_that_is_set_twice_stays_set() {
        assert_eq!(Readiness::READABLE | Readiness::READABLE, Readiness::READABLE);
    }

    #[test]
    fn all_bits_have_to_be_set_and_not_only_some() {
        let both = Readiness::READABLE | Readiness::WRITABLE;
        assert!(both.contains(Readiness::READABLE) && both.contains(both));
        assert!(both.contains(Readiness::NONE));
        assert!(!Readiness::READABLE.contains(both), "only some are");
        assert!(!Readiness::NONE.contains(Readiness::READABLE));
    }
}
