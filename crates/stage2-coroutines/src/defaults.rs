//! Loops with what the stages and the tool use: inspection, traces, and a resolver.

use std::rc::Rc;
use std::sync::Arc;

use selector_core::{Backend, VirtualClock};
use transport::LookupFn;

use crate::Runtime;
use crate::inspect::{Inspector, Trace};
use crate::net::lookups::Lookups;

/// Returns a loop on the sockets and the clock of the operating system.
///
/// # Errors
/// When the process may not open another descriptor.
#[cfg(feature = "os")]
pub fn system_runtime() -> std::io::Result<Runtime> {
    let backend = selector_core::OsBackend::new()?;
    Ok(runtime_on(backend, Arc::new(transport::system_lookup)))
}

/// Returns a loop that gets sockets and time from `backend`, and addresses from `lookup`.
pub fn runtime_on(backend: impl Backend + 'static, lookup: Arc<LookupFn>) -> Runtime {
    let inspector = Rc::new(Inspector::new(backend.now()));
    let lookups = Lookups::new(lookup, backend.notifier());
    let observer = (Trace::new(&inspector), inspector);
    #[cfg(feature = "explore")]
    let observer = (observer, crate::inspect::explore::Explore);
    let runtime = Runtime::with(backend, observer);
    runtime.event_loop().reactor().add_source(Rc::new(lookups));
    runtime
}

/// Returns a loop without sockets, whose clock jumps to the next timer instead
/// of waiting for it. Names cannot be looked up in it.
pub fn virtual_runtime() -> Runtime {
    runtime_on(VirtualClock::new(), Arc::new(transport::system_lookup))
}
