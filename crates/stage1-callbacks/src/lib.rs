//! The crawl on one thread, with an event loop that calls callbacks.
//!
//! The rules of this stage:
//!
//! 1. **Only the loop waits.** Every method starts an operation and returns. The
//!    rest of the work is left with the loop, as a [`Callback`]: under the key of a
//!    socket, or in a timer.
//! 2. **A callback is a bound method**: an object and a function. Python writes
//!    `self.connected`; here it is the pair of a box and a function pointer.
//! 3. **The state travels with the callback.** A method that is called owns the
//!    [`Fetcher`] again, and no other code can touch it. It has to pass the Fetcher to
//!    the next callback, or end the fetch. The compiler does not check this: if a method
//!    just drops its Fetcher, the URL gets no row, and the crawl does not end.
//! 4. **Collect, then call.** A callback may register and unregister any socket.
//!    An event for a socket that is gone by then is ignored.
//!
//! Read [`event_loop`](EventLoop) first, then [`fetch`](Fetcher) and
//! [`crawl`](CrawlState). `connector` is one call of a fetch, and a state machine of
//! its own: lookup, permit, file descriptor, one address after another, TLS. `traced`
//! is an [observer](Observer) of the loop, which writes the trace of a run.

mod connection;
mod connector;
mod crawl;
mod event_loop;
mod fetch;
mod observer;
mod traced;

#[cfg(feature = "os")]
pub use crawl::crawl;
pub use crawl::{CrawlState, crawl_on};
pub use event_loop::{Callback, Closure, EventLoop, Method, Source, Stats, TimerEvent};
pub use fetch::Fetcher;
pub use observer::{Moment, Observer};
