//! The limits of a loop: on descriptors, and on connections in the making.

use std::cell::RefCell;
use std::collections::VecDeque;

use transport::ConnectLimiter;

use crate::Future;
use crate::net::connect_limit::Waiter;

/// The limits of a loop, and the tasks that wait at them.
#[derive(Default)]
pub(crate) struct Limits {
    /// The tasks that wait until a connection is closed and its descriptor is
    /// free.
    pub(crate) fd_waiters: RefCell<VecDeque<Future<()>>>,
    pub(crate) connect_limiter: RefCell<ConnectLimiter<Waiter>>,
}
