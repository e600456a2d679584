//! Two workers and three pages, of which one cannot be fetched.

use stage2_coroutines::{EventLoop, InspectTask, Task, system_runtime, yield_now};
use stage3_queue::JoinableQueue;

type Queue = JoinableQueue<&'static str>;

async fn fetch(event_loop: &EventLoop, page: &str) -> Result<(), &'static str> {
    yield_now(event_loop).await;
    if page == "/b" { Err("connection reset") } else { Ok(()) }
}

async fn work(event_loop: EventLoop, q: Queue) {
    loop {
        let item = q.get().await;
        if let Err(error) = fetch(&event_loop, &item).await {
            println!("{}: {error}", *item);
            continue;
        }
        println!("{}: fetched", *item);
        item.task_done();
    }
}

pub(crate) fn run() -> crate::Outcome {
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop().clone();
    let q = Queue::new(&event_loop);
    for page in ["/a", "/b", "/c"] {
        q.put_nowait(page);
    }
    for name in ["worker 1", "worker 2"] {
        let _worker = Task::spawn(&event_loop, work(event_loop.clone(), q.clone())).named(name);
    }
    let joined = q.clone();
    let join = Task::spawn(&event_loop, async move { joined.join().await });
    runtime.run_until_complete(join.named("main"))??;
    println!("join returns, unfinished: {}", q.unfinished());
    Ok(true)
}
