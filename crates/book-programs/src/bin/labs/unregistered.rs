//! A hundred connections, opened and closed, and then a wait that has no end.

use std::io::ErrorKind;
use std::net::TcpListener;

use stage2_coroutines::{Future, Inspect, InspectTask, Task, connect, system_runtime};
use transport::TlsLayer;

pub(crate) fn run() -> crate::Outcome {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop().clone();
    let inside = event_loop.clone();
    let opener = Task::spawn(&event_loop, async move {
        for _ in 0..100 {
            drop(connect(&inside, address, TlsLayer::plain()).await?);
        }
        std::io::Result::Ok(())
    });
    runtime.run_until_complete(opener)???;
    let count = event_loop.connections();
    println!("100 connections were closed, and {count} are registered");
    // Nothing can resolve this. The loop says so, unless it believes that one of
    // its sockets could still become ready.
    let never = Future::<()>::new(&event_loop);
    let _forgotten = Task::spawn(&event_loop, never.clone()).named("forgotten");
    if count > 0 {
        drop(crate::run_watched(&runtime, never)?);
    }
    let error = runtime.run_forever().err();
    Ok(error.is_some_and(|error| error.kind() == ErrorKind::Deadlock))
}
