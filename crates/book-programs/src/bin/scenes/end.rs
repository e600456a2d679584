//! The end of a crawl with two workers: old work is handed back after new work is put in,
//! or before.

use std::time::Duration;

use stage2_coroutines::{EventLoop, Task, sleep};
use stage3_queue::JoinableQueue;

use crate::scene::{Choices, Scene, failed, runtime_in_virtual_time};

const QUEUE: usize = 2;
const CRAWL: usize = 3;

type Queue = JoinableQueue<&'static str>;

/// Returns the links on a page.
fn links_of(page: &str) -> &'static [&'static str] {
    match page {
        "/" => &["/a"],
        "/a" => &["/b", "/c"],
        _ => &[],
    }
}

async fn work(event_loop: EventLoop, q: Queue, scene: Scene, worker: usize, done_first: bool) {
    loop {
        let item = q.get().await;
        let page = *item;
        scene.add_with(worker, format!("gets {page}, and fetches it"), state(&q));
        sleep(&event_loop, Duration::from_secs(1)).await;
        let mut item = Some(item);
        if done_first && let Some(item) = item.take() {
            item.task_done();
            scene.add_with(worker, format!("{page}: task_done"), state(&q));
        }
        for link in links_of(page) {
            q.put_nowait(link);
            scene.add_with(QUEUE, format!("put_nowait({link})"), state(&q));
        }
        if item.take().is_some() {
            scene.add_with(worker, format!("{page}: task_done"), state(&q));
        }
    }
}

pub(crate) fn play(choices: &Choices<'_>) -> Result<Scene, String> {
    let done_first = choices.among("done", &["last", "first"])? == 1;
    let scene = Scene::new(&["worker 1", "worker 2", "queue", "crawl"]);
    let runtime = runtime_in_virtual_time();
    let event_loop = runtime.event_loop().clone();
    let q = Queue::new(&event_loop);
    q.put_nowait("/");
    scene.add_with(QUEUE, "put_nowait(/)", state(&q));
    scene.add(CRAWL, "starts two workers, and waits in join");
    let worker = |n| work(event_loop.clone(), q.clone(), scene.clone(), n, done_first);
    let workers = [0, 1].map(|n| Task::spawn(&event_loop, worker(n)));
    runtime.run_until_complete(q.join()).map_err(failed)?;
    let left = q.unfinished();
    scene.add_with(CRAWL, "join returns: the workers are cancelled", state(&q));
    for worker in &workers {
        worker.cancel();
    }
    scene.end(match left {
        0 => "unfinished was 0 once: when no page was left and none could come.".to_owned(),
        _ => "unfinished was 0 between two pages: join has returned too early.".to_owned(),
    });
    Ok(scene)
}

/// The state that is shown.
fn state(q: &Queue) -> [(&'static str, String); 2] {
    [("queued", q.len().to_string()), ("unfinished", q.unfinished().to_string())]
}
