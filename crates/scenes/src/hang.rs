//! 16 KiB arrive at once, and are read 4 KiB at a time: under edge or level triggering,
//! one read per event or until there is nothing left.

use std::io::{self, ErrorKind, Read};

use crate::scene::{Choices, Scene, failed};

const LENGTH: usize = 16 * 1024;
const CHUNK: usize = 4 * 1024;
const SYSTEM: usize = 0;
const PROGRAM: usize = 1;

pub(crate) fn play(choices: &Choices<'_>) -> Result<Scene, String> {
    let is_level = choices.among("trigger", &["edge", "level"])? == 1;
    let reads_all = choices.among("read", &["once", "all"])? == 1;
    let scene = Scene::new(&["operating system", "program"]);
    let mut socket = Socket { arrived: vec![0; LENGTH], has_changed: true };
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
            match socket.read(&mut [0; CHUNK]) {
                Ok(count) => {
                    received += count;
                    let text = format!("reads {}", kib(count));
                    scene.add_with(PROGRAM, text, [socket.left()]);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    scene.add(PROGRAM, "reads: it would block");
                    break;
                }
                Err(error) => return Err(failed(error)),
            }
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
    arrived: Vec<u8>,
    /// True if something has arrived since the last event.
    has_changed: bool,
}

impl Socket {
    /// Returns true if the program gets an event: for a change, or for a level.
    fn has_event(&mut self, is_level: bool) -> bool {
        let has_changed = std::mem::take(&mut self.has_changed);
        if is_level { !self.arrived.is_empty() } else { has_changed }
    }

    /// The state that is shown.
    fn left(&self) -> (&'static str, String) {
        ("in the socket", kib(self.arrived.len()))
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(self.arrived.len());
        if count == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        buffer[..count].copy_from_slice(&self.arrived[..count]);
        self.arrived.drain(..count);
        Ok(count)
    }
}

fn kib(bytes: usize) -> String {
    format!("{} KiB", bytes / 1024)
}
