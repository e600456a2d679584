//! The trace of this stage: an observer that writes it.

use selector_core::Interest;
use trace::LaneGuard;

use crate::event_loop::Method;
use crate::fetch::{Fetcher, Loop};
use crate::observer::Moment;

/// Has the tracer of this thread, if there is one, see what the loop does.
pub(crate) fn observe(event_loop: &mut Loop) {
    if trace::is_on() {
        let mut lane = None;
        event_loop.set_observer(Box::new(move |moment| write(moment, &mut lane)));
    }
}

/// Writes a moment to the trace. `lane` is that of the fetch that is being started.
fn write(moment: Moment<'_, Fetcher>, lane: &mut Option<LaneGuard>) {
    match moment {
        Moment::Starts { this } => *lane = Some(trace::enter_fetch(this, &this.visit)),
        Moment::Started => *lane = None,
        Moment::Waits { this, key, on } => {
            trace::callback_stored(this, on == Interest::Readable, || key.to_bits());
        }
        Moment::Calls { this, method, key } => {
            let key = key.map(|key| key.to_bits());
            trace::callback(this, name(method), key);
        }
    }
}

/// Returns the name of a callback. A function pointer does not know it.
fn name(method: Method<Fetcher>) -> &'static str {
    let callbacks: [(&str, Method<Fetcher>); 10] = [
        ("exchange", Fetcher::exchange),
        ("fetch", Fetcher::fetch),
        ("looked_up", Fetcher::looked_up),
        ("lookup_timed_out", Fetcher::lookup_timed_out),
        ("open", Fetcher::open),
        ("read_response", Fetcher::read_response),
        ("start_lookup", Fetcher::start_lookup),
        ("timed_out", Fetcher::timed_out),
        ("try_address", Fetcher::try_address),
        ("writable", Fetcher::writable),
    ];
    let callback = callbacks.iter().find(|(_, known)| *known as usize == method as usize);
    callback.map_or("callback", |(name, _)| *name)
}
