//! The tests of the exercise: one or more for each of its tasks. They are copied with
//! it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use crawl_core::Options;
use demo_site::scripted::Server;
use stage2_coroutines::{EventLoop, Runtime, Task, virtual_runtime, yield_now};
use stage3_queue::{JoinableQueue, crawl};

type Taken = Rc<RefCell<Vec<u32>>>;

/// Spawns a task that takes one item, and writes it down.
fn spawn_getter(event_loop: &EventLoop, q: &JoinableQueue<u32>, taken: &Taken) -> Task<()> {
    let (q, taken) = (q.clone(), Rc::clone(taken));
    Task::spawn(event_loop, async move {
        let item = q.get().await;
        taken.borrow_mut().push(*item);
        // The work never ends: only the third task is about its end.
        std::mem::forget(item);
    })
}

/// Runs the tasks for some batches.
fn run_a_while(runtime: &Runtime) {
    let event_loop = runtime.event_loop();
    let a_while = async {
        for _ in 0..5 {
            yield_now(event_loop).await;
        }
    };
    runtime.run_until_complete(a_while).unwrap();
}

#[test]
fn task_1_an_item_that_is_put_in_waits_and_is_unfinished() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let q = JoinableQueue::new(&event_loop);
    q.put_nowait(1);
    q.put_nowait(2);
    assert_eq!((q.len(), q.unfinished()), (2, 2));
}

#[test]
fn task_2_items_go_to_getters_in_the_order_of_both() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let (q, taken) = (JoinableQueue::new(&event_loop), Taken::default());
    // Put in first, and later as well: in both cases a get has an item.
    q.put_nowait(1);
    let getters = [(); 3].map(|()| spawn_getter(&event_loop, &q, &taken));
    run_a_while(&runtime);
    assert_eq!(*taken.borrow(), [1]);
    q.put_nowait(2);
    q.put_nowait(3);
    assert_eq!(q.len(), 2, "promised, and not yet taken");
    let all = async {
        for getter in getters {
            let _ = getter.await;
        }
    };
    runtime.run_until_complete(all).unwrap();
    assert_eq!(taken.take(), [1, 2, 3]);
}

#[test]
fn task_2_a_getter_that_is_cancelled_passes_its_item_on() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let (q, taken) = (JoinableQueue::new(&event_loop), Taken::default());
    let [first, second, third] = [(); 3].map(|()| spawn_getter(&event_loop, &q, &taken));
    run_a_while(&runtime);
    // One that nothing is promised to leaves; one that has an item passes it on.
    second.cancel();
    q.put_nowait(7);
    first.cancel();
    runtime.run_until_complete(third).unwrap().unwrap();
    assert_eq!((taken.take(), q.len()), (vec![7], 0));
}

#[test]
fn task_3_join_waits_for_the_end_of_all_work_and_can_be_used_again() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let q = JoinableQueue::<u32>::new(&event_loop);
    let done = Rc::new(Cell::new(0));
    let (queue, inside, counted) = (q.clone(), event_loop.clone(), Rc::clone(&done));
    let _worker = Task::spawn(&event_loop, async move {
        loop {
            let item = queue.get().await;
            if *item > 0 {
                queue.put_nowait(*item - 1);
            }
            yield_now(&inside).await;
            counted.set(counted.get() + 1);
            item.task_done();
        }
    });
    for round in 1..=2 {
        q.put_nowait(3);
        runtime.run_until_complete(q.join()).unwrap();
        assert_eq!((done.get(), q.unfinished()), (4 * round, 0));
    }
    runtime.run_until_complete(q.join()).unwrap();
}

#[test]
fn task_4_the_crawl_finds_every_page_and_ends() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/a>a</a> <a href=/b>b</a>"),
        "/a" => reply.page("<a href=/>back</a> <a href=/c>c</a>"),
        "/robots.txt" => reply.status(404, "Not Found", &[], ""),
        _ => reply.page("an end"),
    })
    .unwrap();
    let options = Options::new(vec![server.url("/").parse().unwrap()]);
    let rows = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&rows);
    let write = move |row: crawl_core::Row| {
        sink.lock().unwrap().push((row.url.to_string(), row.status));
    };
    crawl(options, Box::new(write)).unwrap();
    let mut rows = rows.lock().unwrap().clone();
    rows.sort();
    assert_eq!(rows, ["/", "/a", "/b", "/c"].map(|path| (server.url(path), Some(200))));
}
