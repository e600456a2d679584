//! Two workers and a queue, in the order of steps that follows from a seed.

use std::cell::Cell;
use std::rc::Rc;

use stage2_coroutines::{EventLoop, Task, explore, yield_now};
use stage3_queue::JoinableQueue;

use crate::scene::{Choices, Scene, failed, runtime_in_virtual_time};

const CRAWL: usize = 2;

/// The number of pages of the site.
const PAGES: u32 = 4;

type Queue = JoinableQueue<u32>;

/// Returns the number of the page to which a page links.
fn link_of(page: u32) -> Option<u32> {
    (page < 2).then_some(page + 2)
}

struct Crawl {
    event_loop: EventLoop,
    q: Queue,
    scene: Scene,
    fetched: Rc<Cell<u32>>,
    done_first: bool,
}

async fn work(crawl: Rc<Crawl>, worker: usize) {
    let Crawl { event_loop, q, scene, fetched, done_first } = &*crawl;
    loop {
        let item = q.get().await;
        let page = *item;
        scene.add_with(worker, format!("gets page {page}"), state(q));
        // Even pages come later than odd ones.
        for _ in 0..=(page + 1) % 2 {
            yield_now(event_loop).await;
        }
        fetched.update(|count| count + 1);
        let mut item = Some(item);
        if *done_first && let Some(item) = item.take() {
            item.task_done();
            scene.add_with(worker, format!("page {page}: task_done"), state(q));
            yield_now(event_loop).await;
        }
        if let Some(link) = link_of(page) {
            q.put_nowait(link);
            scene.add_with(worker, format!("page {page}: puts page {link}"), state(q));
        }
        if item.take().is_some() {
            scene.add_with(worker, format!("page {page}: task_done"), state(q));
        }
    }
}

pub(crate) fn play(choices: &Choices<'_>) -> Result<Scene, String> {
    let seed = choices.number("seed")?;
    let done_first = choices.among("done", &["last", "first"])? == 1;
    let scene = Scene::new(&["worker 1", "worker 2", "crawl"]);
    let runtime = runtime_in_virtual_time();
    let event_loop = runtime.event_loop().clone();
    let q = Queue::new(&event_loop);
    let fetched = Rc::new(Cell::new(0));
    let exploration = explore(seed);
    q.put_nowait(0);
    q.put_nowait(1);
    scene.add_with(CRAWL, "puts pages 0 and 1, and waits in join", state(&q));
    let crawl = Rc::new(Crawl {
        event_loop: event_loop.clone(),
        q: q.clone(),
        scene: scene.clone(),
        fetched: Rc::clone(&fetched),
        done_first,
    });
    let workers = [0, 1].map(|n| Task::spawn(&event_loop, work(Rc::clone(&crawl), n)));
    let result = runtime.run_until_complete(q.join());
    drop(exploration);
    result.map_err(failed)?;
    scene.add_with(CRAWL, "join returns", state(&q));
    for worker in &workers {
        worker.cancel();
    }
    scene.end(match fetched.get() {
        PAGES => format!("Order {seed}: all {PAGES} pages are fetched."),
        fetched => {
            format!("Order {seed}: join has returned too early, after {fetched} of {PAGES} pages.")
        }
    });
    Ok(scene)
}

/// The state that is shown.
fn state(q: &Queue) -> [(&'static str, String); 2] {
    [("queued", q.len().to_string()), ("unfinished", q.unfinished().to_string())]
}
