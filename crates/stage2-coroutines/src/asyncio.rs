//! The rest of asyncio's interface: callbacks, combinators, exceptions,
//! tracebacks and the inspection of tasks.

pub(crate) mod callbacks;
pub(crate) mod combinators;
pub(crate) mod exceptions;
pub(crate) mod inspection;
pub(crate) mod inspector;
pub mod traceback;
