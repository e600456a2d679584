//! Two workers wait for a page. One comes, the first worker is woken for it, and is
//! cancelled before it has taken it.

use stage2_coroutines::{InspectTask, Task, system_runtime, yield_now};
use stage3_queue::JoinableQueue;

async fn work(name: &'static str, q: JoinableQueue<&'static str>) {
    let page = q.get().await;
    println!("{name} takes {}", *page);
}

pub(crate) fn run() -> crate::Outcome {
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop().clone();
    let q = JoinableQueue::new(&event_loop);
    let spawn = |name| Task::spawn(&event_loop, work(name, q.clone())).named(name);
    let [first, _second] = ["first", "second"].map(spawn);
    let (inside, queue) = (event_loop.clone(), q.clone());
    let main = Task::spawn(&event_loop, async move {
        yield_now(&inside).await;
        queue.put_nowait("/a");
        first.cancel();
        println!("first is cancelled, in the queue: {}", queue.len());
        queue.join().await;
    });
    let result = runtime.run_until_complete(main.named("main"));
    println!("in the queue: {}, unfinished: {}", q.len(), q.unfinished());
    result??;
    Ok(true)
}
