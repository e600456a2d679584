//! The tests of asyncio's interface, in one program.
#![allow(clippy::unwrap_used, missing_docs)]

mod callbacks;
mod combinators;
mod model;
mod names_table;
mod scopes;
mod traceback;
