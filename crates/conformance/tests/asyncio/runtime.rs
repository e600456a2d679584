//! The names of the runtime in this tree that the programs use. The one in `old.rs` has
//! those of an earlier commit: what is named in another way since then is made equal in one
//! of the two, and the programs stay as they are.

pub(crate) use selector_core::Key;
pub(crate) use stage2_coroutines::{
    CallbackId, Coroutine, EventLoop, EventLoop as Runtime, Exception, Future, Gather, Handle,
    LoopError, ReturnWhen, Task, as_completed, gather, gather_outcomes, shield, sleep, timeout_at,
    wait, wait_for,
};
pub(crate) use stage3_queue::{Item, JoinableQueue};
