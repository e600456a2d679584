//! What goes wrong, where and when: the same every time.

use std::hash::{DefaultHasher, Hash, Hasher};

/// What happens to the bytes that a server sends.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub kind: Kind,
    /// How many bytes are left in peace before it does.
    pub place: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The rest comes a little later, which is no fault to speak of.
    Late,
    /// The rest never comes.
    Silence,
    /// The connection ends (FIN).
    End,
    /// The connection breaks (RST).
    Reset,
    /// A few bytes are others. Over plain http nobody would know.
    Damage,
}

/// Which faults there are.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub seed: u64,
    /// How many connections break before a request is read.
    pub broken_greetings: u64,
    pub is_secure: bool,
}

impl Plan {
    /// At most so many attempts at a path go wrong once the request is read.
    pub const MOST_PER_PATH: u32 = 3;

    /// Whether a connection is broken as soon as it is made.
    pub fn breaks_greeting(self, connection: u64) -> bool {
        connection.is_multiple_of(10) && connection / 10 <= self.broken_greetings
    }

    /// What happens to the response of this length to this attempt at a path,
    /// the first being number 1: to one in five something, anywhere.
    pub fn fate(self, path: &str, attempt: u32, length: usize) -> Option<Fault> {
        if attempt > Self::MOST_PER_PATH {
            return None;
        }
        let random = |what: &str| {
            let mut hasher = DefaultHasher::new();
            (self.seed, path, attempt, what).hash(&mut hasher);
            hasher.finish() as usize
        };
        let kind = match random("kind") % 100 {
            0..5 => Kind::Reset,
            5..10 => Kind::End,
            10..15 if self.is_secure => Kind::Damage,
            10..15 => Kind::End,
            15..19 => Kind::Late,
            19 => Kind::Silence,
            _ => return None,
        };
        // Half of them before there is any response.
        let place = [0, random("place") % length.max(1)][random("half") % 2];
        Some(Fault { kind, place })
    }

    /// How many attempts at a path are lost before one is not.
    pub fn lost_attempts(self, path: &str) -> u32 {
        let fate = |attempt| self.fate(path, attempt, 1).filter(|fault| fault.kind != Kind::Late);
        (1..).take_while(|attempt| fate(*attempt).is_some()).count() as u32
    }
}
