//! The same crawl on one thread, with an event loop that calls back.
//!
//! The rules of this stage:
//!
//! 1. **Nobody waits but the loop.** Every method begins something and
//!    returns. What is to happen afterwards is left with the loop, as a
//!    [`Callback`].
//! 2. **A callback is a bound method**: whose it is, and where to go on. Python
//!    writes `self.connected`; here it is the pair of a box and a function.
//! 3. **The state travels with the callback.** Whoever is called owns the
//!    [`Fetcher`] again, and either hands it on to the next callback
//!    or ends it. It cannot be left behind, and nobody else can touch it.
//! 4. **Collect, then call.** A callback may register and unregister whatever
//!    it likes; news for what is gone by then finds nobody.
//!
//! Read [`event_loop`](EventLoop) first, then [`fetcher`](Fetcher). What is
//! practical but not the lesson is in modules beside them.

mod alarm;
mod connection;
mod descriptors;
mod event_loop;
mod fetcher;
mod names;
mod site;
mod turns;

pub use alarm::{Alarm, Occasion};
pub use event_loop::{Callback, EventLoop, Method, Stats};
pub use fetcher::Fetcher;
pub use names::NameMethod;
pub use site::{crawl, crawl_on};
