//! 16 KiB arrive at once, and are read 4 KiB at a time: under edge or level triggering,
//! one read per event or until there is nothing left.

use crate::scene::{Choices, Scene};

const LENGTH: usize = 16 * 1024;
const CHUNK: usize = 4 * 1024;
const SYSTEM: usize = 0;
const PROGRAM: usize = 1;

pub(crate) fn play(choices: &Choices<'_>) -> Result<Scene, String> {
    let is_level = choices.among("trigger", &["edge", "level"])? == 1;
    let reads_all = choices.among("read", &["once", "all"])? == 1;
    let scene = Scene::new(&["operating system", "program"]);
    let mut socket = Socket { unread: LENGTH, has_changed: true };
    let mut received = 0;
    scene.add_with(SYSTEM, "16 KiB arrive, all at once", [socket.left()]);
    while received < LENGTH {
        scene.add(PROGRAM, "waits for an event");
        if !socket.has_event(is_level) {
            scene.add(SYSTEM, "nothing new arrives: no event");
            scene.end(format!("{} are in the socket, and it hangs.", socket.left().1));
            return Ok(scene);
        }
        scene.add(SYSTEM, "event: readable");
        loop {
            let Some(count) = socket.read() else {
                scene.add(PROGRAM, "reads: it would block");
                break;
            };
            received += count;
            scene.add_with(PROGRAM, format!("reads {}", kib(count)), [socket.left()]);
            if !reads_all {
                break;
            }
        }
    }
    scene.end("The program has all 16 KiB.");
    Ok(scene)
}

/// A socket as an operating system keeps it.
struct Socket {
    /// The bytes that have arrived and are unread.
    unread: usize,
    /// True if something has arrived since the last event.
    has_changed: bool,
}

impl Socket {
    /// Returns true if the program gets an event: for a change, or for a level.
    fn has_event(&mut self, is_level: bool) -> bool {
        let has_changed = std::mem::take(&mut self.has_changed);
        if is_level { self.unread > 0 } else { has_changed }
    }

    /// Reads at most 4 KiB. Returns their number, or nothing if it would block.
    fn read(&mut self) -> Option<usize> {
        let count = CHUNK.min(self.unread);
        self.unread -= count;
        (count > 0).then_some(count)
    }

    /// The state that is shown.
    fn left(&self) -> (&'static str, String) {
        ("in the socket", kib(self.unread))
    }
}

fn kib(bytes: usize) -> String {
    format!("{} KiB", bytes / 1024)
}
