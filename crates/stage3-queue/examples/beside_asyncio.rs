//! Programs of asyncio in Rust, to be read beside the same ones in Python:
//! `book/python/beside_asyncio.py`. Both print the same.
//!
//! `cargo run -p stage3-queue --example beside_asyncio`
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::sync::mpsc::channel;
use std::task::{Poll, Waker};
use std::thread::spawn;
use std::time::Duration;

use asyncio::prelude::*;
use asyncio::{
    AnyFuture, ExceptionGroup, ReturnWhen, TaskGroup, as_completed, gather, gather_outcomes, raised,
};
use stage2_coroutines::{
    EventLoop, Exception, Future, Runtime, Task, sleep, system_runtime, timeout_at,
};
use stage3_queue::JoinableQueue;

const SECOND: Duration = Duration::from_millis(200);

// ANCHOR: run
async fn greeting(event_loop: EventLoop) -> &'static str {
    sleep(&event_loop, SECOND).await;
    "hello"
}

fn run(runtime: &Runtime) -> io::Result<()> {
    let event_loop = runtime.event_loop();
    let value = runtime.run_until_complete(greeting(event_loop.clone()))?;
    println!("{value}");
    Ok(())
}
// ANCHOR_END: run

// ANCHOR: task
async fn task(event_loop: &EventLoop) -> Result<(), Exception> {
    let task = Task::spawn(event_loop, greeting(event_loop.clone()));
    println!("spawned");
    println!("{}", task.await?);
    Ok(())
}
// ANCHOR_END: task

// ANCHOR: gather
async fn gather_three(event_loop: &EventLoop) -> Result<(), Exception> {
    let doubles = [1, 2, 3].map(|number| double(event_loop.clone(), number));
    println!("{:?}", gather(event_loop, doubles).await?);
    Ok(())
}

async fn double(event_loop: EventLoop, number: u32) -> Result<u32, Exception> {
    sleep(&event_loop, SECOND * number).await;
    Ok(2 * number)
}
// ANCHOR_END: gather

// ANCHOR: group
async fn group(event_loop: &EventLoop) {
    let result = TaskGroup::run(event_loop, async |group| {
        group.create_task(fails(event_loop.clone()))?;
        let number = group.create_task(double(event_loop.clone(), 100))?;
        println!("{}", number.await?);
        Ok::<_, Exception>(())
    });
    if let Err(exception) = result.await
        && let Some(errors) = ExceptionGroup::of(&exception)
    {
        errors.exceptions().iter().for_each(|error| println!("caught: {error}"));
    }
}

async fn fails(event_loop: EventLoop) -> Result<(), Exception> {
    sleep(&event_loop, SECOND).await;
    Err(raised("no route"))
}
// ANCHOR_END: group

// ANCHOR: timeout
async fn timeout(event_loop: &EventLoop) -> Result<(), Exception> {
    let deadline = event_loop.now() + SECOND;
    match timeout_at(event_loop, || deadline, double(event_loop.clone(), 2)).await {
        Ok(number) => println!("{}", number?),
        Err(_) => println!("too late"),
    }
    Ok(())
}
// ANCHOR_END: timeout

// ANCHOR: cancel
struct Light;

impl Drop for Light {
    fn drop(&mut self) {
        println!("the light is off");
    }
}

async fn cancel(event_loop: &EventLoop) -> Result<(), Exception> {
    let inside = event_loop.clone();
    let task = Task::spawn(event_loop, async move {
        let _light = Light;
        sleep(&inside, SECOND * 100).await;
    });
    sleep(event_loop, SECOND).await;
    task.cancel();
    if let Err(Exception::Cancelled) = task.await {
        println!("cancelled");
    }
    Ok(())
}
// ANCHOR_END: cancel

// ANCHOR: future
async fn future(event_loop: &EventLoop) -> Result<(), Exception> {
    let answer = Future::new(event_loop);
    answer.add_done_callback(|_| println!("called back"));
    let resolved = answer.clone();
    let resolve = move || resolved.set_result(42).expect("nothing else does");
    event_loop.call_later(SECOND, resolve);
    println!("{}", answer.await?);
    Ok(())
}
// ANCHOR_END: future

// ANCHOR: wait
async fn wait(event_loop: &EventLoop) -> Result<(), Exception> {
    let tasks = [3, 1, 2].map(|number| {
        let task = Task::try_spawn(event_loop, double(event_loop.clone(), number));
        AnyFuture::from(task).shared()
    });
    let first = ReturnWhen::FirstCompleted;
    let wait = asyncio::wait(event_loop, tasks.clone(), first, None);
    let (done, pending) = wait.await;
    println!("{} done, {} pending", done.len(), pending.len());
    let mut completed = as_completed(event_loop, tasks, None);
    while let Some(next_done) = completed.next().await {
        println!("{}", next_done?);
    }
    Ok(())
}
// ANCHOR_END: wait

// ANCHOR: exception
async fn exception(event_loop: &EventLoop) -> Result<(), Exception> {
    let broken = async |number| 1_u32.checked_div(number).ok_or("by zero");
    let outcomes = gather_outcomes(event_loop, [1, 0].map(broken)).await?;
    println!("{} {}", outcomes[0].clone()?, outcomes[1].is_err());
    Ok(())
}
// ANCHOR_END: exception

// ANCHOR: queue
async fn queue(event_loop: &EventLoop) -> Result<(), Exception> {
    let q = JoinableQueue::<u32>::new(event_loop);
    let work = {
        let q = q.clone();
        async move {
            loop {
                let number = q.get().await;
                if *number > 0 {
                    q.put_nowait(*number - 1);
                }
                println!("did {}", *number);
                number.task_done();
            }
        }
    };
    q.put_nowait(2);
    let worker: Task<()> = Task::spawn(event_loop, work);
    q.join().await;
    worker.cancel();
    Ok(())
}
// ANCHOR_END: queue

// ANCHOR: thread
async fn thread(_event_loop: &EventLoop) -> Result<(), Exception> {
    let (to_thread, wakers) = channel::<Waker>();
    let (to_loop, answers) = channel();
    spawn(move || {
        to_loop.send("from a thread").ok();
        // No future may cross to another thread, but a waker may.
        wakers.recv().map(Waker::wake).ok();
    });
    let answer = poll_fn(|context| {
        // First the waker, then the look: an answer that comes in between wakes.
        to_thread.send(context.waker().clone()).ok();
        answers.try_recv().map_or(Poll::Pending, Poll::Ready)
    });
    println!("{}", answer.await);
    Ok(())
}
// ANCHOR_END: thread

async fn others(event_loop: &EventLoop) -> Result<(), Exception> {
    println!("task:");
    task(event_loop).await?;
    println!("gather:");
    gather_three(event_loop).await?;
    println!("group:");
    group(event_loop).await;
    println!("timeout:");
    timeout(event_loop).await?;
    println!("cancel:");
    cancel(event_loop).await?;
    println!("future:");
    future(event_loop).await?;
    println!("wait:");
    wait(event_loop).await?;
    println!("exception:");
    exception(event_loop).await?;
    println!("queue:");
    queue(event_loop).await?;
    println!("thread:");
    thread(event_loop).await
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = system_runtime()?;
    let event_loop = runtime.event_loop().clone();
    println!("run:");
    run(&runtime)?;
    runtime.run_until_complete(others(&event_loop))??;
    Ok(())
}
