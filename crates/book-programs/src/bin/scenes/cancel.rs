//! A coroutine that carries a parcel from one shelf to another is cancelled at a moment
//! that the reader chooses.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use stage2_coroutines::{EventLoop, Task, sleep};

use crate::scene::{Choices, Scene, failed, runtime_in_virtual_time};

const COROUTINE: usize = 0;
const DESTRUCTORS: usize = 1;
const CALLER: usize = 2;

const SECOND: Duration = Duration::from_secs(1);

/// The two shelves: `from` and `to`.
type Shelves = Rc<RefCell<[Option<&'static str>; 2]>>;

/// A local variable that tells when it is dropped.
struct Lamp(Scene);

impl Drop for Lamp {
    fn drop(&mut self) {
        self.0.add(DESTRUCTORS, "the lamp goes out");
    }
}

/// A parcel on its way. If it does not arrive, it goes back, if it is carried with care.
struct Carried {
    parcel: Option<&'static str>,
    shelves: Shelves,
    is_careful: bool,
    scene: Scene,
}

impl Drop for Carried {
    fn drop(&mut self) {
        if let Some(parcel) = self.parcel.take().filter(|_| self.is_careful) {
            self.shelves.borrow_mut()[0] = Some(parcel);
            self.scene.add_with(DESTRUCTORS, "the parcel goes back", [state(&self.shelves)]);
        }
    }
}

async fn carry(event_loop: EventLoop, scene: Scene, shelves: Shelves, is_careful: bool) {
    scene.add(COROUTINE, "lights a lamp");
    let _lamp = Lamp(scene.clone());
    sleep(&event_loop, SECOND).await;
    let parcel = shelves.borrow_mut()[0].take();
    let shelf = shelves.clone();
    let mut carried = Carried { parcel, shelves: shelf, is_careful, scene: scene.clone() };
    scene.add_with(COROUTINE, "takes the parcel, and walks", [state(&shelves)]);
    sleep(&event_loop, SECOND).await;
    shelves.borrow_mut()[1] = carried.parcel.take();
    scene.add_with(COROUTINE, "puts the parcel down", [state(&shelves)]);
    sleep(&event_loop, SECOND).await;
    scene.add(COROUTINE, "is done");
}

pub(crate) fn play(choices: &Choices<'_>) -> Result<Scene, String> {
    let awaits = choices.among("after", &["0", "1", "2", "3", "never"])?;
    let is_careful = choices.among("coroutine", &["careless", "careful"])? == 1;
    let scene = Scene::new(&["coroutine", "destructors", "caller"]);
    let shelves: Shelves = Rc::new(RefCell::new([Some("parcel"), None]));
    let runtime = runtime_in_virtual_time();
    let event_loop = runtime.event_loop().clone();
    let program = async {
        let coroutine = carry(event_loop.clone(), scene.clone(), shelves.clone(), is_careful);
        scene.add_with(CALLER, "spawns the task", [state(&shelves)]);
        let task = Task::spawn(&event_loop, coroutine);
        if awaits < 4 {
            if awaits > 0 {
                sleep(&event_loop, SECOND * awaits as u32 - SECOND / 2).await;
            }
            let at = match awaits {
                0 => "before its first step".to_owned(),
                _ => format!("while it waits for its sleep number {awaits}"),
            };
            scene.add(CALLER, format!("cancels it {at}"));
            task.cancel();
        }
        let outcome = task.await;
        let text = if outcome.is_ok() { "the task has ended" } else { "the task is cancelled" };
        scene.add_with(CALLER, text, [state(&shelves)]);
    };
    runtime.run_until_complete(program).map_err(failed)?;
    scene.end(match *shelves.borrow() {
        [None, None] => "The parcel is lost: it was in the frame, and nowhere else.",
        [Some(_), _] => "The parcel is where it was.",
        [None, Some(_)] => "The parcel has arrived.",
    });
    Ok(scene)
}

/// The state that is shown: the shelves.
fn state(shelves: &Shelves) -> (&'static str, String) {
    let [from, to] = shelves.borrow().map(|parcel| parcel.unwrap_or("–"));
    ("shelves", format!("{from} | {to}"))
}
