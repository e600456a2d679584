//! One worker and a site of four pages: the last worker on the last page must put in
//! the links of it before it counts as done.

use stage2_coroutines::{EventLoop, InspectTask, Task, system_runtime, yield_now};
use stage3_queue::JoinableQueue;

type Queue = JoinableQueue<&'static str>;

fn links_of(page: &str) -> &'static [&'static str] {
    match page {
        "/" => &["/a", "/b"],
        "/a" => &["/c"],
        _ => &[],
    }
}

async fn work(event_loop: EventLoop, q: Queue) {
    loop {
        let item = q.get().await;
        let page = *item;
        // The fetch.
        yield_now(&event_loop).await;
        for link in links_of(page) {
            q.put_nowait(link);
        }
        item.task_done();
        println!("{page} is done, unfinished: {}", q.unfinished());
    }
}

pub(crate) fn run() -> crate::Outcome {
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop().clone();
    let q = Queue::new(&event_loop);
    q.put_nowait("/");
    let worker = Task::spawn(&event_loop, work(event_loop.clone(), q.clone())).named("worker");
    runtime.run_until_complete(q.join())?;
    println!("join returns: in the queue {}, unfinished {}", q.len(), q.unfinished());
    worker.print_stack(&mut std::io::stdout())?;
    Ok(q.is_empty())
}
