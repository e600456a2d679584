//! The features of Tornado's coroutines in this crate: `run_sync` with its
//! timeout, a list and a dict of coroutines in parallel, `gen.sleep`, and
//! `moment`.
//!
//! `cargo run -p stage2-coroutines --example tornado_run_sync`
#![allow(clippy::print_stdout)] // An example may print.

use std::error::Error;
use std::time::Duration;

use asyncio::prelude::*;
use asyncio::{multi, multi_map};
use stage2_coroutines::{EventLoop, Exception, sleep, virtual_runtime, yield_now};

/// A simulated download. A coroutine of Tornado had to raise its result; here it
/// returns the result like any other function.
type Page = Result<(&'static str, u64), Exception>;

async fn get(event_loop: EventLoop, url: &'static str, seconds: u64) -> Page {
    sleep(&event_loop, Duration::from_secs(seconds)).await;
    println!("  {url} took {seconds} s");
    Ok((url, seconds))
}

/// Runs a list and a dict of coroutines in parallel. Tornado finds out what was
/// yielded; here there is a function for each: `multi` for a list, `multi_map`
/// for a dict.
async fn get_all(event_loop: &EventLoop) -> Result<(), Exception> {
    let begin = event_loop.now();
    let list = [("/a", 1), ("/b", 3), ("/c", 2)];
    println!("a list:");
    let pages = multi(event_loop, list.map(|(url, s)| get(event_loop.clone(), url, s))).await?;
    println!("  {pages:?} after {:?}", event_loop.now() - begin);

    let begin = event_loop.now();
    let dict = [("first", "/a", 2), ("second", "/b", 1)];
    println!("a dict:");
    let pages = dict.map(|(name, url, s)| (name, get(event_loop.clone(), url, s)));
    let pages = multi_map(event_loop, pages).await?;
    println!("  {pages:?} after {:?}", event_loop.now() - begin);
    Ok(())
}

/// Prints two lines and yields after each, without anything to wait for.
async fn yield_twice(event_loop: EventLoop, name: &'static str) -> Result<(), Exception> {
    for turn in 1..=2 {
        println!("  {name}, turn {turn}");
        yield_now(&event_loop).await;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    // In virtual time: the seconds cost nothing.
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();
    runtime.run_sync(get_all(event_loop), Duration::from_secs(10))??;

    println!("a moment for the others:");
    let players = ["ping", "pong"].map(|name| yield_twice(event_loop.clone(), name));
    runtime.run_until_complete(multi(event_loop, players))??;

    println!("too slow:");
    let slow = get(event_loop.clone(), "/slow", 60);
    match runtime.run_sync(slow, Duration::from_secs(10)) {
        Ok(page) => println!("  {} came in time", page?.0),
        Err(error) => println!("  {error}"),
    }
    Ok(())
}
