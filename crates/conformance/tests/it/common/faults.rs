//! Fault plans: pseudo-random network faults, which are the same for the same
//! seed.

use std::hash::{DefaultHasher, Hash, Hasher};

/// A fault in a response.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub kind: FaultKind,
    /// The number of bytes that are sent unharmed before the fault.
    pub offset: usize,
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The rest comes a little later. The fetch succeeds all the same.
    Late,
    /// The rest never comes.
    Silence,
    /// The connection ends (FIN).
    End,
    /// The connection breaks (RST).
    Reset,
    /// A few bytes are changed. Over plain http this could not be detected.
    Damage,
}

/// A plan that says which connections and responses have which fault.
#[derive(Clone, Copy, Debug)]
pub struct FaultPlan {
    pub seed: u64,
    /// The number of connections that are reset before a request is read.
    pub reset_connections: u64,
    pub is_secure: bool,
}

impl FaultPlan {
    /// The most attempts at one path that fail after the request was read.
    pub const MAX_PER_PATH: u32 = 3;

    /// Returns true if the connection is reset as soon as it is made.
    pub fn resets_connection(self, connection: u64) -> bool {
        connection.is_multiple_of(10) && connection / 10 <= self.reset_connections
    }

    /// Returns the fault in the response to this attempt at a path, which has
    /// this length. The first attempt is number 1. One response in five has a
    /// fault, at any offset.
    pub fn fault_for(self, path: &str, attempt: u32, length: usize) -> Option<Fault> {
        if attempt > Self::MAX_PER_PATH {
            return None;
        }
        let random = |what: &str| {
            let mut hasher = DefaultHasher::new();
            (self.seed, path, attempt, what).hash(&mut hasher);
            hasher.finish() as usize
        };
        let kind = match random("kind") % 100 {
            0..5 => FaultKind::Reset,
            5..10 => FaultKind::End,
            10..15 if self.is_secure => FaultKind::Damage,
            10..15 => FaultKind::End,
            15..19 => FaultKind::Late,
            19 => FaultKind::Silence,
            _ => return None,
        };
        // Half of the faults come before the first byte of the response.
        let offset = [0, random("place") % length.max(1)][random("half") % 2];
        Some(Fault { kind, offset })
    }

    /// Returns the number of attempts at a path that fail before one succeeds.
    pub fn failed_attempts(self, path: &str) -> u32 {
        let is_fatal = |fault: &Fault| fault.kind != FaultKind::Late;
        let fatal_fault = |attempt| self.fault_for(path, attempt, 1).filter(is_fatal);
        (1..).take_while(|attempt| fatal_fault(*attempt).is_some()).count() as u32
    }
}
