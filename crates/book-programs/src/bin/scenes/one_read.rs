//! One read that has to wait, as its trace tells it: task, loop, selector and operating
//! system.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use sim_net::{Link, SimNet, text};
use stage2_coroutines::{connect, read, runtime_on, write_all};
use trace::{Event, Record, Tracer};
use transport::TlsLayer;

use crate::scene::{Choices, Scene, failed};

const TASK: usize = 0;
const LOOP: usize = 1;
const SELECTOR: usize = 2;
const SYSTEM: usize = 3;

pub(crate) fn play(_choices: &Choices<'_>) -> Result<Scene, String> {
    let scene = Scene::new(&["task", "event loop", "selector", "operating system"]);
    let tracer = Tracer::new(Tracer::LIMIT);
    let entered = tracer.enter();
    let host = Ipv4Addr::new(10, 0, 0, 1);
    let net = SimNet::new(|_| text("hello"));
    let latency = Duration::from_millis(40);
    net.link(host.into(), Link { latency, ..Link::DEFAULT });
    let runtime = runtime_on(net.clone(), net.lookup());
    let event_loop = runtime.event_loop().clone();
    let fetch = async {
        let address = SocketAddr::from((host, 80));
        let mut connection = connect(&event_loop, address, TlsLayer::plain()).await?;
        write_all(&mut connection, b"GET / HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n").await?;
        read(&mut connection, <[u8]>::len).await
    };
    let result = runtime.run_until_complete(fetch).map_err(failed)?;
    drop(entered);
    let length = result.map_err(failed)?.unwrap_or(0);
    let trace = tracer.take();
    // From the request, which was written at once, to the read that gets something.
    let is_before = |record: &&Record| !matches!(record.event, Event::Write { .. });
    scene.add(TASK, "calls read; nothing is known to have come");
    for record in trace.records.iter().skip_while(is_before).skip(1) {
        tell(&scene, record);
        if matches!(record.event, Event::Read { result: Ok(_), .. }) {
            break;
        }
    }
    scene.add(TASK, format!("read returns {length} bytes, 80 ms after it was called"));
    Ok(scene)
}

/// Adds what a record tells.
fn tell(scene: &Scene, record: &Record) {
    match &record.event {
        Event::Read { result: Err(ErrorKind::WouldBlock), .. } => {
            scene.add(TASK, "read: calls the operating system");
            scene.add(SYSTEM, "nothing is there: WouldBlock");
        }
        Event::Read { result, .. } => {
            scene.add(TASK, "read: calls the operating system");
            scene.add(SYSTEM, format!("{} bytes", result.unwrap_or(0)));
        }
        Event::WakerStored { operation: "read", .. } => {
            scene.add(SELECTOR, "keeps the waker of the task under the key of the socket");
        }
        Event::StepEnd { result: "pending", .. } => {
            scene.add(TASK, "returns Pending to the loop; its frame stays in the table");
        }
        Event::SelectBegin { timeout } => {
            let timeout = if timeout.is_none() { "without limit" } else { "until the next timer" };
            scene.add(LOOP, format!("the run queue is empty: select, {timeout}"));
            scene.add(SYSTEM, "lets the thread sleep");
        }
        Event::SelectEnd { ready } => {
            scene.add(SYSTEM, format!("bytes arrive: wakes the thread, with {ready} event"));
        }
        Event::Ready { .. } => {
            scene.add(SELECTOR, "event: readable. Takes the waker from under the key")
        }
        Event::Wake { .. } => {
            scene.add(LOOP, "the waker is called: the task goes into the run queue")
        }
        Event::StepBegin => scene.add(LOOP, "takes the task from the run queue, and polls it"),
        _ => {}
    }
}
