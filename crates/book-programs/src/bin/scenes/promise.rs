//! A queue that is empty, two getters, and an item. The first getter is given the permit for
//! it, and may be cancelled before it takes the item.

use stage2_coroutines::{Task, yield_now};
use stage3_queue::JoinableQueue;

use crate::scene::{Choices, Scene, failed, runtime_in_virtual_time};

const CALLER: usize = 2;

type Queue = JoinableQueue<&'static str>;

async fn get(q: Queue, scene: Scene, getter: usize) {
    scene.add(getter, "calls get, and waits");
    let item = q.get().await;
    scene.add_with(getter, format!("takes {}", *item), state(&q));
}

pub(crate) fn play(choices: &Choices<'_>) -> Result<Scene, String> {
    let is_cancelled = choices.among("getter", &["stays", "cancelled"])? == 1;
    let scene = Scene::new(&["first getter", "second getter", "caller"]);
    let runtime = runtime_in_virtual_time();
    let event_loop = runtime.event_loop().clone();
    let q = Queue::new(&event_loop);
    let program = async {
        let getters = [0, 1].map(|n| Task::spawn(&event_loop, get(q.clone(), scene.clone(), n)));
        yield_now(&event_loop).await;
        q.put_nowait("/page");
        scene.add_with(
            CALLER,
            "puts /page: the first getter is given the permit for it",
            state(&q),
        );
        if is_cancelled {
            scene.add(CALLER, "cancels the first getter, before its step");
            getters[0].cancel();
            scene.add_with(CALLER, "its permit goes to the second getter", state(&q));
        }
        for _ in 0..3 {
            yield_now(&event_loop).await;
        }
        for getter in &getters {
            getter.cancel();
        }
    };
    runtime.run_until_complete(program).map_err(failed)?;
    scene.end(if is_cancelled {
        "The permit was passed on, and no item is lost."
    } else {
        "A getter that comes later has no permit, and cannot take the item."
    });
    Ok(scene)
}

/// The state that is shown.
fn state(q: &Queue) -> [(&'static str, String); 2] {
    [("queued", q.len().to_string()), ("unfinished", q.unfinished().to_string())]
}
