//! The leaves: operations that wait for an event themselves, and not by awaiting
//! another coroutine.

use std::future::poll_fn;
use std::panic::Location;
use std::task::{Context, Poll};

use crate::{Coroutine, EventLoop, Place, Wait};

// ANCHOR: leaf
/// Makes a leaf of a function that polls, the one way in which all of them are made. As
/// long as it is pending, the observer of the loop hears what the task waits for, at which
/// line of the caller, and since when.
///
/// `poll` stores the waker before it returns `Pending`.
#[track_caller]
pub fn leaf<T, P: FnMut(&mut Context<'_>) -> Poll<T>>(
    event_loop: &EventLoop,
    wait: Wait,
    poll: P,
) -> impl Coroutine<Output = T> + use<T, P> {
    leaf_at(event_loop, wait, Location::caller(), poll)
}

/// As [`leaf`], for an `async` block, which does not know its caller: an ordinary function
/// around it does, and passes the place on.
pub fn leaf_at<T, P: FnMut(&mut Context<'_>) -> Poll<T>>(
    event_loop: &EventLoop,
    wait: Wait,
    at: Place,
    mut poll: P,
) -> impl Coroutine<Output = T> + use<T, P> {
    let (event_loop, mut since) = (event_loop.clone(), None);
    poll_fn(move |context| {
        let poll = poll(context);
        if poll.is_pending() {
            let since = *since.get_or_insert_with(|| event_loop.reactor().tick_time());
            event_loop.scheduler().observer.waits(wait, Some(at), since);
        }
        poll
    })
}
// ANCHOR_END: leaf
