//! Record and replay: a [`Backend`] that keeps whatever another one gives to a loop,
//! and one that gives it again, without a network and without waiting.
//!
//! The rules of this crate:
//!
//! 1. **A run is a function of its backend.** Everything that a loop cannot compute
//!    comes through the one seam: the clock, readiness, the results of connecting,
//!    reading, writing and looking names up. Given the same again, it does the same
//!    again. The time of day is not in it: it counts only for a date from a server that
//!    does not send its own (`Date`).
//! 2. **There are no other threads.** While it is recorded, a loop looks names up on
//!    its own thread, and a signal enters in a wait. So there is one order of events.
//! 3. **The first difference is told.** A replayed loop that asks something else than
//!    the recorded one gets an error that says what, and where.
//! 4. **Secrets are not kept**, unless asked: the values of fields such as
//!    `Authorization`, and of cookies, are replaced at their length.
//! 5. **TLS is above the record.** What a handshake sends is random; so what a secure
//!    stream gives is recorded above it, and there is no TLS in a replay.
//! 6. **A record is bounded**, and compressed. One that is foreign, cut, or of a later
//!    version is refused.
//!
//! [`Backend`]: selector_core::Backend

mod entry;
mod file;
mod player;
mod recorder;
mod redact;

pub use file::{FileError, Header, Record};
pub use player::Player;
pub use recorder::{External, Recorder};
pub use redact::{redacted_credentials, redacted_header};
