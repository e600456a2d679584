//! The network and the clock as coroutines: lookup, connect, read, write, sleep.

pub(crate) mod connection;
pub(crate) mod connector;
pub(crate) mod io;
pub(crate) mod leaf;
pub(crate) mod limits;
pub(crate) mod lookup;
pub(crate) mod lookups;
pub mod read_by_hand;
pub(crate) mod time;
