//! A page of 16 KiB, which has arrived as a whole before it is read.

use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use stage2_coroutines::{EventLoop, InspectTask, Task, connect, read, sleep, system_runtime};
use transport::TlsLayer;

const LENGTH: usize = 16 * 1024;

async fn read_page(event_loop: EventLoop, address: std::net::SocketAddr) -> std::io::Result<()> {
    let mut connection = connect(&event_loop, address, TlsLayer::plain()).await?;
    // All bytes arrive in the meantime, and with them the only event.
    sleep(&event_loop, Duration::from_millis(200)).await;
    let mut received = 0;
    while received < LENGTH {
        let length = read(&mut connection, <[u8]>::len).await?.unwrap_or(0);
        received += length;
        println!("read {length} bytes, {} to come", LENGTH - received);
    }
    Ok(())
}

pub(crate) fn run() -> crate::Outcome {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        stream.write_all(&[b'x'; LENGTH])?;
        // It stays open: the end of the stream would be an event as well.
        thread::sleep(Duration::from_secs(60));
        Ok(())
    });
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop().clone();
    let reader = Task::spawn(&event_loop, read_page(event_loop.clone(), address)).named("reader");
    crate::run_watched(&runtime, reader)???;
    Ok(true)
}
