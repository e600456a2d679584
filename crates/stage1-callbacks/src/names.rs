//! The names of callbacks, for the trace of a program that has no table of symbols.

use crate::event_loop::Method;
use crate::fetch::Fetcher;

/// The callbacks that events and timeouts call.
const CALLBACKS: [(&str, Method<Fetcher>); 4] = [
    ("writable", Fetcher::writable),
    ("exchange", Fetcher::exchange),
    ("read_response", Fetcher::read_response),
    ("timed_out", Fetcher::timed_out),
];

/// Returns the name of the callback at an address: a method of [`Fetcher`].
pub fn name_of_callback(address: usize) -> Option<&'static str> {
    let callback = CALLBACKS.iter().find(|(_, method)| *method as usize == address);
    callback.map(|(name, _)| *name)
}
