//! A value that comes from another thread at the worst moment: while the task looks
//! for it.

use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

use stage2_coroutines::{Coroutine, InspectTask, Task, Wait, leaf, system_runtime};

/// The place where the value and the waker meet.
#[derive(Default)]
struct Slot {
    value: Option<u32>,
    waker: Option<Waker>,
}

type Shared = Arc<Mutex<Slot>>;

fn lock(slot: &Shared) -> MutexGuard<'_, Slot> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A coroutine that waits for the value.
struct Receive {
    slot: Shared,
    /// Says that the slot was found empty.
    is_empty: Sender<()>,
}

impl Coroutine for Receive {
    type Output = u32;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u32> {
        // The check and the store are one step: the thread cannot come between.
        let mut slot = lock(&self.slot);
        if let Some(value) = slot.value.take() {
            return Poll::Ready(value);
        }
        let _ = self.is_empty.send(());
        slot.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

/// Sends the value as soon as the task has found none.
fn send(slot: &Shared, is_empty: &Receiver<()>) {
    let _ = is_empty.recv();
    let mut slot = lock(slot);
    slot.value = Some(7);
    let waker = slot.waker.take();
    drop(slot);
    match waker {
        Some(waker) => waker.wake(),
        None => println!("thread: the value is there, and there is no waker to call"),
    }
}

pub(crate) fn run() -> crate::Outcome {
    let (sender, is_empty) = channel();
    let slot = Shared::default();
    let mut receive = Receive { slot: Arc::clone(&slot), is_empty: sender };
    thread::spawn(move || send(&slot, &is_empty));
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop().clone();
    let wait = Wait::Other(&"waiting for the value of a thread");
    let receive = leaf(&event_loop, wait, move |context| Pin::new(&mut receive).poll(context));
    let task = Task::spawn(&event_loop, receive);
    let value = crate::run_watched(&runtime, task.named("receiver"))??;
    println!("task: received {value}");
    Ok(true)
}
