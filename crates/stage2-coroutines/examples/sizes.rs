//! The sizes of coroutines: the local variables that are alive at the `.await`
//! where most are, and little else.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::future::pending;
use std::hint::black_box;
use std::net::TcpListener;
use std::ops::ControlFlow;

use stage2_coroutines::{Coroutine, connect, read, read_all, read_by_hand, system_runtime};
use transport::TlsLayer;

// ANCHOR: functions
/// A coroutine with no variables. Its states: not begun, suspended, returned, panicked.
async fn empty() {
    pending::<()>().await;
}

async fn across() {
    let page = [0_u8; 1024];
    pending::<()>().await;
    // Used after the `.await`, so it has to be kept.
    black_box(&page);
}

async fn lent_before() {
    let page = [0_u8; 1024];
    black_box(&page);
    // The array is not used again. But it was borrowed, and its scope goes on.
    pending::<()>().await;
}

async fn before() {
    let first = {
        let page = [0_u8; 1024];
        black_box(&page)[0]
    };
    pending::<()>().await;
    black_box(first);
}

async fn one_after_the_other() {
    {
        let page = [0_u8; 1024];
        pending::<()>().await;
        black_box(&page);
    }
    let page = [0_u8; 1024];
    pending::<()>().await;
    black_box(&page);
}
// ANCHOR_END: functions

// ANCHOR: callers
/// A coroutine that contains the frame of the one it awaits.
async fn delegates() {
    across().await;
}

/// A coroutine that contains only a pointer to the frame of the one it awaits.
async fn delegates_to_a_box() {
    Box::pin(across()).await;
}

/// A recursive coroutine. Without the box it would be infinitely large.
async fn recurses(depth: u32) {
    if depth > 0 {
        Box::pin(recurses(depth - 1)).await;
    }
}
// ANCHOR_END: callers

fn main() -> Result<(), Box<dyn Error>> {
    println!("one frame:");
    line("nothing to remember", &empty());
    line("1024 bytes across an await", &across());
    line("1024 bytes, lent before it", &lent_before());
    line("1024 bytes, gone before it", &before());
    line("1024 bytes, and then 1024", &one_after_the_other());

    println!("frames within frames:");
    line("delegates to the second", &delegates());
    line("delegates to it in a box", &delegates_to_a_box());
    line("recurses, however deep", &recurses(1000));

    println!("of this crate:");
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop();
    let connecting = connect(event_loop, listener.local_addr()?, TlsLayer::plain());
    line("connect", &connecting);
    let mut connection = runtime.run_until_complete(connecting)??;
    let sink = |_: &[u8]| ControlFlow::<()>::Continue(());
    line("read, by hand", &read_by_hand::read(&mut connection, sink));
    line("read", &read(&mut connection, sink));
    line("read_all, by hand", &read_by_hand::read_all(&mut connection, sink));
    line("read_all", &read_all(&mut connection, sink));
    Ok(())
}

fn line(title: &str, coroutine: &impl Coroutine) {
    println!("  {title:<27} bytes: {}", size_of_val(coroutine));
}
