//! The single-threaded executors that are compared, each used the way its own
//! manual says.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;

use async_executor::LocalExecutor;
use futures::executor::{LocalPool, LocalSpawner, block_on};
use futures::task::LocalSpawnExt;
use stage2_coroutines::{Task, system_runtime};
use tokio::runtime::{Builder, LocalRuntime};
use tokio::task::spawn_local;

/// A handle to an executor, cheap to clone, with which tasks spawn other tasks.
pub(crate) trait Runtime: Clone + 'static {
    const NAME: &'static str;

    fn new() -> Self;

    /// Runs `main`, and all tasks beside it, until `main` returns.
    fn run<T: 'static>(&self, main: impl Future<Output = T> + 'static) -> T;

    /// Spawns a task and returns its handle.
    fn spawn<T: 'static>(
        &self,
        task: impl Future<Output = T> + 'static,
    ) -> impl Future<Output = T> + 'static;
}

#[derive(Clone)]
pub(crate) struct Ours(pub(crate) Rc<stage2_coroutines::Runtime>);

impl Runtime for Ours {
    const NAME: &'static str = "ours";

    fn new() -> Self {
        Self(Rc::new(system_runtime().unwrap()))
    }

    fn run<T: 'static>(&self, main: impl Future<Output = T> + 'static) -> T {
        self.0.run_until_complete(main).unwrap()
    }

    fn spawn<T: 'static>(
        &self,
        task: impl Future<Output = T> + 'static,
    ) -> impl Future<Output = T> + 'static {
        let task = Task::spawn(self.0.event_loop(), task);
        async { task.await.unwrap() }
    }
}

#[derive(Clone)]
pub(crate) struct Tokio(Rc<LocalRuntime>);

impl Runtime for Tokio {
    const NAME: &'static str = "tokio";

    fn new() -> Self {
        Self(Rc::new(
            Builder::new_current_thread().enable_all().build_local(<_>::default()).unwrap(),
        ))
    }

    fn run<T: 'static>(&self, main: impl Future<Output = T> + 'static) -> T {
        self.0.block_on(main)
    }

    fn spawn<T: 'static>(
        &self,
        task: impl Future<Output = T> + 'static,
    ) -> impl Future<Output = T> + 'static {
        let task = spawn_local(task);
        async { task.await.unwrap() }
    }
}

#[derive(Clone)]
pub(crate) struct AsyncExecutor(Rc<LocalExecutor<'static>>);

impl Runtime for AsyncExecutor {
    const NAME: &'static str = "async-executor";

    fn new() -> Self {
        Self(Rc::new(LocalExecutor::new()))
    }

    fn run<T: 'static>(&self, main: impl Future<Output = T> + 'static) -> T {
        block_on(self.0.run(main))
    }

    fn spawn<T: 'static>(
        &self,
        task: impl Future<Output = T> + 'static,
    ) -> impl Future<Output = T> + 'static {
        self.0.spawn(task)
    }
}

#[derive(Clone)]
pub(crate) struct Pool(Rc<RefCell<LocalPool>>, LocalSpawner);

impl Runtime for Pool {
    const NAME: &'static str = "local-pool";

    fn new() -> Self {
        let pool = LocalPool::new();
        let spawner = pool.spawner();
        Self(Rc::new(RefCell::new(pool)), spawner)
    }

    fn run<T: 'static>(&self, main: impl Future<Output = T> + 'static) -> T {
        self.0.borrow_mut().run_until(main)
    }

    fn spawn<T: 'static>(
        &self,
        task: impl Future<Output = T> + 'static,
    ) -> impl Future<Output = T> + 'static {
        self.1.spawn_local_with_handle(task).unwrap()
    }
}

/// Yields to all other tasks once. It is the same few instructions for all
/// executors, so that the switch is measured and not their own `yield_now`.
pub(crate) async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
