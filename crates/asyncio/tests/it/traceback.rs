//! Tracebacks: errors that record the places they have passed.

use std::error::Error;
use std::num::ParseIntError;
use std::sync::Arc;
use std::time::Duration;

use asyncio::traceback::{Traced, TracedIn};
use selector_core::VirtualClock;

use stage2_coroutines::{EventLoop, Task, runtime_on, sleep};
use transport::system_lookup;

type Traceable<T> = Result<T, Traced<ParseIntError>>;

const INNER: u32 = line!() + 4;
async fn inner(event_loop: &EventLoop, text: &str) -> Traceable<i32> {
    // After this line, all coroutines of the chain have been suspended once.
    sleep(event_loop, Duration::from_secs(1)).await;
    text.parse().map_err(|error| Traced::raised_in("inner", error))
}

const MIDDLE: u32 = line!() + 2;
async fn middle(event_loop: &EventLoop, text: &str) -> Traceable<i32> {
    inner(event_loop, text).await.traced_in("middle")
}

const OUTER: u32 = line!() + 3;
async fn outer(event_loop: &EventLoop, text: &str) -> Traceable<i32> {
    sleep(event_loop, Duration::from_secs(1)).await;
    let number = middle(event_loop, text).await.traced_in("outer")?;
    Ok(number + 1)
}

fn run(text: &'static str) -> Traceable<i32> {
    let runtime = runtime_on(VirtualClock::new(), Arc::new(system_lookup));
    let event_loop = runtime.event_loop().clone();
    let task_loop = event_loop.clone();
    let task = Task::spawn(&event_loop, async move { outer(&task_loop, text).await });
    runtime.run_until_complete(task).unwrap().unwrap()
}

#[test]
fn a_result_passes_untouched() {
    assert_eq!(run("41").unwrap(), 42);
}

#[test]
fn an_error_records_every_line_that_it_has_passed() {
    let traced = run("forty-one").unwrap_err();
    let frames: Vec<_> = traced.frames().collect();
    let places: Vec<_> =
        frames.iter().map(|frame| (frame.function.unwrap(), frame.at.line())).collect();
    assert_eq!(places, [("outer", OUTER), ("middle", MIDDLE), ("inner", INNER)]);
    assert!(frames.iter().all(|frame| frame.at.file() == file!()));
}

#[test]
fn a_traceback_ends_with_the_error_itself() {
    let traced = run("forty-one").unwrap_err();
    let file = file!();
    let expected = format!(
        "traceback, innermost last:\n  {file}:{OUTER}, in outer\n  {file}:{MIDDLE}, in middle\n  \
         {file}:{INNER}, in inner\n{}",
        traced.error
    );
    assert_eq!(traced.to_string(), expected);
}

#[test]
fn a_question_mark_records_its_line() {
    fn parse(text: &str) -> Traceable<i32> {
        Ok(text.parse::<i32>()?)
    }
    let line = line!() - 2;
    let traced = parse("forty-one").unwrap_err();
    let places: Vec<_> = traced.frames().map(|frame| (frame.function, frame.at.line())).collect();
    assert_eq!(places, [(None, line)]);
    let text = traced.to_string();
    assert!(text.contains(&format!("{}:{line}\n", file!())), "{text}");
}

#[test]
fn a_question_mark_adds_no_line_to_a_traced_error() {
    fn inner() -> Traceable<i32> {
        Ok("forty-one".parse::<i32>()?)
    }
    fn outer() -> Traceable<i32> {
        Ok(inner()? + 1)
    }
    assert_eq!(outer().unwrap_err().frames().count(), 1);
}

#[test]
fn a_traced_error_is_an_error_like_any_other() {
    fn boxed() -> Result<i32, Box<dyn Error>> {
        Ok(run("forty-one")?)
    }
    let error = boxed().unwrap_err();
    let traced = error.downcast::<Traced<ParseIntError>>().unwrap();
    assert_eq!(traced.frames().count(), 3);
    // Its message includes that of the error.
    assert!(traced.source().is_none());
}
