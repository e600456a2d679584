//! The names of asyncio and Tornado, and their counterparts in this crate.
//!
//! This page is for readers who know Python: asyncio's reference of tasks and
//! coroutines, an article on the `_step` of its tasks, or one on Tornado's
//! coroutines. Every name in those documents is in one of the tables below. A
//! dash means that there is no such thing here, and no need of it. The programs
//! of those documents are among the examples of this crate.
//!
//! Three differences apply to all rows, and are not repeated:
//!
//! * The loop is an argument. There is no function that returns the loop of the
//!   thread, so no code can get the wrong one by accident.
//! * An exception is a value. A `yield from` that may raise is an `.await` that
//!   returns a `Result`, with [`Exception`] as its error.
//! * Seconds are a [`Duration`](std::time::Duration), and `timeout=None` is
//!   either `None` or a function that has no timeout.
//!
//! # Tasks and coroutines in asyncio
//!
//! | asyncio | here |
//! |---|---|
//! | `coroutine` (the decorator), `coroutine function` | — `async fn` is a word of the language |
//! | `coroutine object` | [`Coroutine`]: the value that an `async fn` returns |
//! | `iscoroutinefunction`, `iscoroutine` | — the type tells, before the program runs |
//! | `yield from future`, `yield from coroutine` | `.await`; of a coroutine or of a [`Future`], all the same |
//! | `return`, `raise` in a coroutine | the same: it ends with a value, or with an `Err` by `?`; its [`Task`] keeps either |
//! | coroutine `not scheduled` | found by the compiler: a [`Coroutine`] is `must_use`, see below |
//! | `Future` | [`Future`], of which there may be many handles |
//! | `Future.cancel` | [`Future::cancel`] |
//! | `Future.cancelled` | [`Future::cancelled`] |
//! | `Future.done` | [`Future::done`] |
//! | `Future.result` | [`Future::result`] copies it, [`Future::take_result`] moves it out, and so does awaiting |
//! | `Future.exception` | [`Future::exception`] |
//! | `Future.add_done_callback` | [`Future::add_done_callback`], which returns a [`CallbackId`] |
//! | `Future.remove_done_callback` | [`Future::remove_done_callback`], by that id: functions are not compared |
//! | `Future.set_result` | [`Future::set_result`] |
//! | `Future.set_exception` | [`Future::set_exception`] |
//! | `InvalidStateError` | [`InvalidState`]; [`Exception::InvalidState`] when awaited |
//! | `TimeoutError` | [`Exception::TimedOut`]; [`Elapsed`] of [`timeout_at`]; an [`std::io::Error`] of [`EventLoop::run_sync`] |
//! | `CancelledError` | [`Exception::Cancelled`] for the code that waits. The cancelled coroutine itself gets nothing: it is dropped |
//! | `concurrent.futures.Future`, `concurrent.futures.wait`, `concurrent.futures.as_completed` | — another thread sends its result through [`EventLoop::remote`], or wakes a [`Waker`](std::task::Waker) |
//! | `Task` | [`Task::spawn`]. A task has all methods of its future, and becomes it by `into` |
//! | `Task.all_tasks` | [`EventLoop::all_tasks`] |
//! | `Task.current_task` | [`EventLoop::current_task`] |
//! | `Task.cancel` | [`Future::cancel`]; it cannot be denied, see below |
//! | `Task.get_stack` | [`Task::get_stack`]. There is one frame, here as there, and so no `limit` |
//! | `Task.print_stack` | [`Task::print_stack`]; `file` is its argument |
//! | `as_completed` | [`as_completed`] |
//! | `async` | [`ensure_future`] |
//! | `gather` | [`gather`] |
//! | `return_exceptions` | [`gather_outcomes`] |
//! | `sleep` | [`sleep`]; with a result, [`sleep_and_return`] |
//! | `shield` | [`shield`] |
//! | `wait` | [`wait`] |
//! | `return_when` | [`ReturnWhen`] |
//! | `FIRST_COMPLETED` | [`ReturnWhen::FirstCompleted`] |
//! | `FIRST_EXCEPTION` | [`ReturnWhen::FirstException`] |
//! | `ALL_COMPLETED` | [`ReturnWhen::AllCompleted`] |
//! | `wait_for` | [`wait_for`] for a future, [`timeout_at`] for a coroutine, which need not become a task |
//! | `BaseEventLoop` | [`EventLoop`] |
//! | `get_event_loop` | — a loop is made by [`EventLoop::new`] and passed as an argument |
//! | `run_until_complete` | [`EventLoop::run_until_complete`]. It makes no task: its coroutine may borrow from the caller |
//! | `run_forever` | [`EventLoop::run_forever`] |
//! | `stop` | [`EventLoop::stop`] |
//! | `close` | [`EventLoop::close`] |
//! | `call_soon` | [`EventLoop::call_soon`] |
//! | `call_later` | [`EventLoop::call_later`] |
//! | `call_soon_threadsafe` | [`Remote::call_soon`] |
//!
//! # The step of a task in asyncio
//!
//! | asyncio | here |
//! |---|---|
//! | `_step` | one [`poll`](std::future::Future::poll) of the coroutine, by the loop |
//! | `_wakeup` | a [`Waker`](std::task::Waker). It carries no result: the coroutine takes it from the future it awaits |
//! | `send` | [`Generator::resume`](generator::Generator::resume) in the digression; a coroutine is sent nothing but a [`Context`](std::task::Context) |
//! | `throw` | [`Generator::throw`](generator::Generator::throw) in the digression; to a coroutine an error comes as what its `.await` returns |
//! | `StopIteration` | [`Poll::Ready`](std::task::Poll::Ready), which has the value in it |
//! | `__iter__`, `__await__`, `compat.PY35` | [`IntoFuture`], which every [`Coroutine`] has |
//! | `_asyncio_future_blocking` | — no code can await by accident: `.await` is the only way to wait |
//! | `yield from wasn't used with future` | — polled too early, a future returns `Pending` once more |
//! | `ensure_future` | [`ensure_future`] |
//! | `create_future` | [`Future::new`] |
//! | `_set_result_unless_cancelled` | — a sleep that is cancelled removes its timer |
//! | `Handle.cancel` | [`Handle::cancel`] |
//! | `sleep(0)`, `bare yield` | [`yield_now`] |
//! | `_coro` | — only the loop has it, boxed |
//! | `_loop` | [`Future::event_loop`] |
//! | `_fut_waiter` | [`TaskInfo::wait`], for inspection. Cancelling a task does not cancel what it awaits, except in [`gather`], [`multi`] or [`wait_for`] |
//! | `_must_cancel` | — a task that cancels itself is dropped at the end of its step |
//! | `_current_tasks` | [`EventLoop::current_task`] |
//! | `already done` | — a task that is done is no longer in the loop |
//! | `cannot await on itself` | [`InvalidState::AwaitsItself`] |
//! | `attached to a different loop` | [`InvalidState::OtherLoop`] |
//! | `yield was used instead of yield from`, `isgenerator`, `bad yield` | — do not compile, see below |
//! | `Exception` | [`Exception::Raised`] of [`Future::set_exception`]. A coroutine usually returns a `Result` of its own |
//! | `BaseException` | a panic: [`Exception::Panicked`]. Recorded, and not raised again: the loop goes on |
//! | `RuntimeError` | [`Exception::InvalidState`] |
//!
//! # Coroutines in Tornado
//!
//! | Tornado | here |
//! |---|---|
//! | `gen.coroutine`, `_make_coroutine_wrapper`, `GeneratorType`, `functools.wraps` | — `async fn` is a word of the language |
//! | `gen.Return` | — `return` |
//! | `gen.sleep` | [`sleep`] |
//! | `yield` of a list | [`multi`] |
//! | `yield` of a dict | [`multi_map`] |
//! | `Multi`, `multi_future` | [`multi`] |
//! | `moment` | [`yield_now`] |
//! | `convert_yielded`, `is_future`, `BadYieldError` | — what cannot be awaited does not compile, see below |
//! | `YieldPoint` | — whatever is awaited is a [`Coroutine`] |
//! | `IOLoop` | [`EventLoop`] |
//! | `IOLoop.current` | — the loop is passed as an argument |
//! | `run_sync` | [`EventLoop::run_sync`] |
//! | `future_cell` | — [`EventLoop::run_until_complete`] keeps the result on its own stack |
//! | `TimeoutError` | [`std::io::ErrorKind::TimedOut`] |
//! | `add_future` | [`Future::add_done_callback`] |
//! | `add_callback` | [`EventLoop::call_soon`] |
//! | `add_timeout` | [`EventLoop::call_at`] |
//! | `remove_timeout` | [`Handle::cancel`] |
//! | `IOLoop.time` | [`EventLoop::now`] |
//! | `start` | [`EventLoop::run_forever`] |
//! | `stop` | [`EventLoop::stop`] |
//! | `Runner` | [`Task`] |
//! | `Runner.run`, `running`, `finished` | one [`poll`](std::future::Future::poll); during it the loop takes the coroutine out of its slot, and at the end for good |
//! | `handle_yield`, `handle_yielded` | — if the awaited future is done, the coroutine goes on in the same step; if it is pending, it stores the waker |
//! | `next`, `send`, `throw`, `StopIteration` | as for asyncio, above: [`Generator`](generator::Generator) has them all |
//! | `TracebackFuture`, `set_exc_info` | [`Future`], [`Future::set_exception`]; for the place it came from see [`traceback`] |
//! | `result_future` | [`Task`] is the future of its own result |
//! | `_null_future` | — there is no field to be emptied |
//! | `LeakedCallbackError`, `pending_callbacks`, `had_exception` | — a coroutine that is dropped removes all that it has registered: timers, callbacks, wakers |
//! | `StackContext`, `StackContextInconsistentError`, `_deactivate_stack_context`, `stack_context` | — they carry a context from callback to callback; a coroutine has its variables, and its errors pass through `.await` by `?` |
//! | `replace_callback` | — a callback awaits nothing: it resolves a future, which a coroutine awaits |
//!
//! # What Python can do and this cannot
//!
//! | there | here |
//! |---|---|
//! | A coroutine catches its own cancellation, and denies it or delays it | It is dropped where it is suspended. Work that must not be cut short goes into a task of its own, awaited by its handle |
//! | `finally` may wait, for example until a goodbye is sent | A destructor runs, and cannot wait. It may spawn a task that does |
//! | A cancelled task is not `cancelled` before its coroutine has ended | It is `cancelled` at once |
//! | Cancelling a task cancels what it awaits | Only through [`gather`], [`multi`] and [`wait_for`]; dropping a handle does not cancel its task |
//! | A result can be read any number of times | The first `.await` moves it out; [`Future::result`] copies it, if it can be copied |
//! | A task that raised has its traceback in `get_stack` | It has its [`Exception`], and no stack; see [`traceback`] |
//! | An exit or a Ctrl-C raised in a task goes through the loop | A panic stays with its task; only a panic of the main coroutine goes through |
//! | One `yield` for everything that can be waited for | A function for each: [`multi`], [`multi_map`], [`wait_for`] |
//!
//! # What this can do and Python cannot
//!
//! | here | there |
//! |---|---|
//! | A coroutine is cancelled by dropping it, as [`timeout_at`] does; it need not be a task | To be cancelled, it has to be made a task |
//! | A cancellation cannot be swallowed: once its step is over, no code of the coroutine runs but its destructors | Any `except` on the way may swallow it by mistake |
//! | A coroutine borrows from the one that awaits it, and the main one from its caller | All is shared, and lives as long as there is a reference to it |
//! | A chain of coroutines is one value of a known size: a task allocates as much once, however deep the chain | Each call allocates a frame |
//! | A coroutine that is not awaited, awaited twice or taken for its result does not compile | A message when it is destroyed, an error when it is resumed, an error somewhere else |
//! | A loop, a task or what they share cannot be sent to another thread | It can, by mistake |
//! | Tasks end with [`EventLoop::close`], each with a [`LoopError`] | They end when the interpreter destroys them |
//!
//! # Going on after a cancellation
//!
//! The recipe of asyncio's reference, a `shield` inside a `try` that catches
//! `CancelledError`, is a `match`. It is about a shield that other code cancels.
//! If the coroutine that waits is cancelled itself, it is dropped, and with it
//! the `match`.
//!
//! ```
//! use std::time::Duration;
//! use stage2_coroutines::{EventLoop, Exception, Task, shield, sleep_and_return};
//!
//! # let event_loop = EventLoop::new()?;
//! let inside = event_loop.clone();
//! let page = Task::spawn(&event_loop, async move {
//!     sleep_and_return(&inside, Duration::from_millis(1), "a page").await
//! });
//! # let page = stage2_coroutines::Future::from(page);
//! let shielded = shield(page.clone());
//! shielded.cancel();
//!
//! let (result, page) = event_loop.run_until_complete(async {
//!     let result = match shielded.await {
//!         Err(Exception::Cancelled) => None,
//!         outcome => Some(outcome),
//!     };
//!     (result, page.await)
//! })?;
//! assert!(result.is_none());
//! assert_eq!(page?, "a page", "what was shielded went on");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What Python checks when it runs and Rust when it compiles
//!
//! In each pair, the first program does not compile. The second differs from it
//! in one line, and compiles.
//!
//! ## Awaiting a value that is no future
//!
//! asyncio's task finds a bad yield, and throws an error into the coroutine.
//!
//! ```compile_fail,E0277
//! async fn answer() -> u32 {
//!     7.await
//! }
//! # let event_loop = stage2_coroutines::EventLoop::new()?;
//! # assert_eq!(event_loop.run_until_complete(answer())?, 7);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! ```
//! async fn answer() -> u32 {
//!     async { 7 }.await
//! }
//! # let event_loop = stage2_coroutines::EventLoop::new()?;
//! # assert_eq!(event_loop.run_until_complete(answer())?, 7);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! ## Forgetting to await
//!
//! asyncio's task notices a generator that was yielded and not delegated to.
//! If it was not even yielded, there is a message when it is destroyed. Here
//! the compiler warns, and the warning can be made an error.
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! use std::time::Duration;
//! use stage2_coroutines::{EventLoop, sleep};
//!
//! async fn a_moment_later(event_loop: &EventLoop) -> u32 {
//!     sleep(event_loop, Duration::from_millis(1));
//!     7
//! }
//! # let event_loop = EventLoop::new()?;
//! # assert_eq!(event_loop.run_until_complete(a_moment_later(&event_loop))?, 7);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! ```
//! #![deny(unused_must_use)]
//! use std::time::Duration;
//! use stage2_coroutines::{EventLoop, sleep};
//!
//! async fn a_moment_later(event_loop: &EventLoop) -> u32 {
//!     sleep(event_loop, Duration::from_millis(1)).await;
//!     7
//! }
//! # let event_loop = EventLoop::new()?;
//! # assert_eq!(event_loop.run_until_complete(a_moment_later(&event_loop))?, 7);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! ## Taking a coroutine for its result
//!
//! In Python the mistake is noticed when code computes with the coroutine.
//!
//! ```compile_fail,E0308
//! async fn size() -> usize {
//!     7
//! }
//!
//! async fn twice_the_size() -> usize {
//!     let size: usize = size();
//!     2 * size
//! }
//! # let event_loop = stage2_coroutines::EventLoop::new()?;
//! # assert_eq!(event_loop.run_until_complete(twice_the_size())?, 14);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! ```
//! async fn size() -> usize {
//!     7
//! }
//!
//! async fn twice_the_size() -> usize {
//!     let size: usize = size().await;
//!     2 * size
//! }
//! # let event_loop = stage2_coroutines::EventLoop::new()?;
//! # assert_eq!(event_loop.run_until_complete(twice_the_size())?, 14);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! ## Awaiting a coroutine twice
//!
//! Python raises an error at the second `await`: the frame is used up. Here the
//! coroutine has been moved into the first `.await`.
//!
//! ```compile_fail,E0382
//! async fn size() -> usize {
//!     7
//! }
//!
//! async fn both() -> usize {
//!     let coroutine = size();
//!     let first = coroutine.await;
//!     let second = coroutine.await;
//!     first + second
//! }
//! # let event_loop = stage2_coroutines::EventLoop::new()?;
//! # assert_eq!(event_loop.run_until_complete(both())?, 14);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! ```
//! async fn size() -> usize {
//!     7
//! }
//!
//! async fn both() -> usize {
//!     let coroutine = size();
//!     let first = coroutine.await;
//!     let second = size().await;
//!     first + second
//! }
//! # let event_loop = stage2_coroutines::EventLoop::new()?;
//! # assert_eq!(event_loop.run_until_complete(both())?, 14);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! ## Spawning a coroutine that borrows from the stack
//!
//! There is nothing to check in Python, where all variables are shared. Here a
//! task owns what it uses, since it may outlive the function that spawned it.
//!
//! ```compile_fail,E0373
//! use stage2_coroutines::{EventLoop, Task};
//!
//! fn measure(event_loop: &EventLoop) -> Task<usize> {
//!     let path = String::from("/a/page");
//!     Task::spawn(event_loop, async { path.len() })
//! }
//! # let event_loop = EventLoop::new()?;
//! # assert_eq!(event_loop.run_until_complete(measure(&event_loop))??, 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```
//! use stage2_coroutines::{EventLoop, Task};
//!
//! fn measure(event_loop: &EventLoop) -> Task<usize> {
//!     let path = String::from("/a/page");
//!     Task::spawn(event_loop, async move { path.len() })
//! }
//! # let event_loop = EventLoop::new()?;
//! # assert_eq!(event_loop.run_until_complete(measure(&event_loop))??, 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ## Handing a loop to another thread
//!
//! asyncio documents which one of its functions is meant for other threads, and
//! does not check it. Here it is the only one that they can call.
//!
//! ```compile_fail,E0277
//! use std::thread;
//! use stage2_coroutines::EventLoop;
//!
//! let event_loop = EventLoop::new()?;
//! let (handle, remote) = (event_loop.clone(), event_loop.remote());
//! let thread = thread::spawn(move || handle.stop());
//! # event_loop.run_forever()?;
//! # thread.join().unwrap();
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! ```
//! use std::thread;
//! use stage2_coroutines::EventLoop;
//!
//! let event_loop = EventLoop::new()?;
//! let (handle, remote) = (event_loop.clone(), event_loop.remote());
//! let thread = thread::spawn(move || remote.call_soon(|event_loop| event_loop.stop()));
//! # event_loop.run_forever()?;
//! # thread.join().unwrap();
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! ## Handing a task to another thread
//!
//! The result of a task may be sent to another thread, the task itself may not.
//!
//! ```compile_fail,E0277
//! use std::thread;
//! use stage2_coroutines::{EventLoop, Task};
//!
//! let event_loop = EventLoop::new()?;
//! let task = Task::spawn(&event_loop, async { 7 });
//! let cargo = task;
//! let thread = thread::spawn(move || drop(cargo));
//! # thread.join().unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```
//! use std::thread;
//! use stage2_coroutines::{EventLoop, Task};
//!
//! let event_loop = EventLoop::new()?;
//! let task = Task::spawn(&event_loop, async { 7 });
//! let cargo = event_loop.run_until_complete(task)??;
//! let thread = thread::spawn(move || drop(cargo));
//! # thread.join().unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ## Sharing an `Rc` with another thread
//!
//! The tasks of one loop share values by `Rc`, and need no locks. A value that
//! is shared with another thread needs an `Arc`.
//!
//! ```compile_fail,E0277
//! use stage2_coroutines::EventLoop;
//!
//! let event_loop = EventLoop::new()?;
//! let shared = std::rc::Rc::new(7);
//! event_loop.remote().call_soon(move |event_loop| {
//!     assert_eq!(*shared, 7);
//!     event_loop.stop();
//! });
//! # event_loop.run_forever()?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! ```
//! use stage2_coroutines::EventLoop;
//!
//! let event_loop = EventLoop::new()?;
//! let shared = std::sync::Arc::new(7);
//! event_loop.remote().call_soon(move |event_loop| {
//!     assert_eq!(*shared, 7);
//!     event_loop.stop();
//! });
//! # event_loop.run_forever()?;
//! # Ok::<(), std::io::Error>(())
//! ```

// The links above are resolved from here.
#[cfg(doc)]
use crate::*;
