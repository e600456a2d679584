//! Two sockets are ready in one tick, and the first callback closes the second socket and
//! opens another one, which gets its slot.

use selector_core::{Key, Slab};

use crate::scene::{Choices, Scene};

const LOOP: usize = 0;
const TABLE: usize = 1;
const CALLBACK: usize = 2;

pub(crate) fn play(choices: &Choices<'_>) -> Result<Scene, String> {
    let is_compared = choices.among("generation", &["compared", "ignored"])? == 0;
    let scene = Scene::new(&["event loop", "table of sockets", "callback"]);
    let mut sockets = Slab::new();
    let a = sockets.insert("/a");
    let b = sockets.insert("/b");
    let state = |sockets: &Slab<&str>| {
        let texts =
            sockets.keys().filter_map(|key| Some(format!("{} {}", name(key), sockets.get(key)?)));
        ("", texts.collect::<Vec<_>>().join(", "))
    };
    scene.add_with(TABLE, "two sockets, each with its key: slot.generation", [state(&sockets)]);
    scene.add(LOOP, format!("select: {} and {} are readable", name(a), name(b)));
    for key in [a, b] {
        scene.add(LOOP, format!("takes the event of key {}", name(key)));
        let found = if is_compared { Some(key) } else { in_slot(&sockets, key) };
        match found.and_then(|found| sockets.get(found).copied()) {
            None => {
                scene.add(TABLE, "the slot has another generation: nothing under this key");
                scene.end("The event is stale, and ignored.");
            }
            Some("/a") => {
                scene.add(CALLBACK, "of /a: reads; gives /b up");
                sockets.remove(b);
                scene.add_with(TABLE, "the slot of /b is free", [state(&sockets)]);
                scene.add(CALLBACK, "of /a: opens a connection for /c");
                sockets.insert("/c");
                scene.add_with(TABLE, "/c gets the free slot", [state(&sockets)]);
            }
            Some(page) => {
                scene.add(TABLE, format!("the slot is that of {page}"));
                scene.add(CALLBACK, format!("of {page}: is told that it may read"));
                scene.end(format!(
                    "That is wrong: what became readable was /b. {page} is not even connected."
                ));
            }
        }
    }
    Ok(scene)
}

/// The key as the page writes it: its slot, and its generation.
fn name(key: Key) -> String {
    format!("{}.{}", key.index(), key.to_bits() >> 32)
}

/// Finds the key that is now in the slot of another key.
fn in_slot(sockets: &Slab<&str>, key: Key) -> Option<Key> {
    sockets.keys().find(|other| other.index() == key.index())
}
