//! The rest of asyncio's interface: callbacks, combinators, exceptions,
//! tracebacks and the inspection of tasks.

pub(crate) mod callbacks;
pub(crate) mod combinators;
pub(crate) mod deadlock;
pub(crate) mod exceptions;
pub(crate) mod futures;
pub(crate) mod gather;
pub(crate) mod inspection;
pub(crate) mod inspector;
pub(crate) mod join;
pub(crate) mod tasks;
pub mod traceback;
pub(crate) mod tracing;
