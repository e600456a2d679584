//! `timeout`: a block with a deadline.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use stage2_coroutines::sync::Event;
use stage2_coroutines::{Elapsed, EventLoop, InvalidState, timeout_at};

/// A handle to a block with a deadline, which it can move.
#[derive(Clone)]
pub struct Timeout(Rc<TimeoutState>);

struct TimeoutState {
    when: Cell<Option<Instant>>,
    /// Set when the deadline has moved.
    moved: Event,
    stage: Cell<Stage>,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Active,
    Expired,
    Finished,
}

/// Runs `body`, but no longer than `delay`: asyncio's `async with timeout(delay)`. `None` is no
/// deadline at first.
///
/// At the deadline the body is dropped where it is suspended. asyncio throws a cancellation
/// into it instead, which a body may swallow; this one cannot. As there, the body always runs
/// to its first wait, and the outermost block whose deadline has passed is the one that ends. A
/// result that comes at the moment of the deadline comes too late; see [`timeout_at`], which
/// takes it.
///
/// ```
/// use std::time::Duration;
/// use asyncio::timeout;
/// use stage2_coroutines::{Elapsed, sleep, virtual_runtime};
///
/// # let runtime = virtual_runtime();
/// # let event_loop = runtime.event_loop();
/// let second = Duration::from_secs(1);
/// let result = runtime.run_until_complete(timeout(event_loop, Some(second), async |timeout| {
///     let later = event_loop.now() + 3 * second;
///     timeout.reschedule(Some(later)).expect("it is active");
///     sleep(event_loop, 2 * second).await;
///     "slept"
/// }))?;
/// assert_eq!(result, Ok("slept"));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// [`Elapsed`], which `?` converts into [`Exception::TimedOut`](stage2_coroutines::Exception).
pub async fn timeout<T>(
    event_loop: &EventLoop,
    delay: Option<Duration>,
    body: impl AsyncFnOnce(Timeout) -> T,
) -> Result<T, Elapsed> {
    let state = Rc::new(TimeoutState {
        // A deadline beyond the end of the clock is never reached.
        when: Cell::new(delay.and_then(|delay| event_loop.now().checked_add(delay))),
        moved: Event::new(event_loop),
        stage: Cell::new(Stage::Active),
    });
    let _guard = FinishOnDrop(&state);
    let mut body = pin!(body(Timeout(Rc::clone(&state))));
    let mut deadline = pin!(state.deadline(event_loop));
    let mut has_begun = false;
    poll_fn(|context| {
        if has_begun && deadline.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(Elapsed));
        }
        has_begun = true;
        if let Poll::Ready(value) = body.as_mut().poll(context) {
            return Poll::Ready(Ok(value));
        }
        // The body may have moved it.
        deadline.as_mut().poll(context).map(|()| Err(Elapsed))
    })
    .await
    .inspect_err(|Elapsed| state.stage.set(Stage::Expired))
}

impl TimeoutState {
    /// Waits until the deadline has passed, wherever it moves.
    async fn deadline(&self, event_loop: &EventLoop) {
        loop {
            self.moved.clear();
            match self.when.get() {
                None => self.moved.wait().await,
                Some(when) => {
                    if timeout_at(event_loop, || when, self.moved.wait()).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

impl Timeout {
    /// Returns the deadline.
    pub fn when(&self) -> Option<Instant> {
        self.0.when.get()
    }

    /// Moves the deadline, or removes it. One that is past ends the block at its next wait.
    ///
    /// # Errors
    /// When the block has ended.
    pub fn reschedule(&self, when: Option<Instant>) -> Result<(), InvalidState> {
        if self.0.stage.get() != Stage::Active {
            return Err(InvalidState::Done);
        }
        self.0.when.set(when);
        self.0.moved.set();
        Ok(())
    }

    /// Returns true if the block was ended by its deadline.
    pub fn expired(&self) -> bool {
        self.0.stage.get() == Stage::Expired
    }
}

/// A drop guard: a block that has ended stays as it is.
struct FinishOnDrop<'t>(&'t TimeoutState);

impl Drop for FinishOnDrop<'_> {
    fn drop(&mut self) {
        if self.0.stage.get() == Stage::Active {
            self.0.stage.set(Stage::Finished);
        }
    }
}
