//! What a socket can do, and what somebody waits for.

use std::ops::BitOr;

// ANCHOR: readiness
/// What is known to be possible on a socket without blocking. The bits stay
/// set until somebody who found nothing left clears them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness(u8);
// ANCHOR_END: readiness

impl Readiness {
    /// Nothing is known to be possible.
    pub const NONE: Self = Self(0);
    /// A read may give bytes, an end or an error.
    pub const READABLE: Self = Self(1);
    /// A write may take bytes or give an error; a connect has ended.
    pub const WRITABLE: Self = Self(2);
    /// The peer has sent its last byte. What it sent before may still be
    /// waiting to be read.
    pub const READ_CLOSED: Self = Self(4);

    /// Whether all bits of `other` are set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether somebody with this interest has something to do.
    pub fn satisfies(self, interest: Interest) -> bool {
        self.0 & interest.bits().0 != 0
    }

    /// These bits without those that `interest` waits for. The end of reading
    /// stays: once over, it is over.
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
/// Which news wakes a waiter. The chapter's `EVENT_READ` and `EVENT_WRITE`.
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
            // Over is as good a news as bytes: a read finds out either way.
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
    }
}
