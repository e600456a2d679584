//! `yield from`: one generator delegates to another. Values and errors pass
//! through the outer generator, which stays at the same place.
#![allow(clippy::print_stdout)]

use std::mem;
use std::ops::ControlFlow;

use stage2_coroutines::generator::{
    self, AsyncGenerator, CallerFn, CallerFnFrame, CoroutineState, GenFn, Generator, NOT_BEGUN,
    Sent, Step, Thrown, delegate,
};

fn main() -> Result<(), Thrown> {
    println!("caller_fn delegates to gen_fn:");
    let mut caller = CallerFn::new(print);
    print_resume_points(&caller);
    for input in [None, Some("hello"), Some("goodbye")] {
        println!("  resume({input:?})");
        println!("  -> {:?}", caller.resume(input)?);
        print_resume_points(&caller);
    }

    println!("the same with .await:");
    let mut caller = AsyncGenerator::new(|channel| generator::caller_fn(channel, print));
    for input in [None, Some("hello"), Some("goodbye")] {
        println!("  resume({input:?})");
        println!("  -> {:?}", caller.resume(input)?);
    }

    println!("thrown into, caller_fn has no try around it:");
    let mut caller = CallerFn::<&str, _>::new(print);
    caller.resume(None)?;
    println!("  throw(\"malformed page\")");
    if let Err(error) = caller.throw("malformed page".into()) {
        println!("  raises: {error}");
    }
    print_resume_points(&caller);

    println!("thrown into, careful_fn has:");
    let mut careful = CarefulFn::Start;
    careful.resume(None)?;
    println!("  throw(\"malformed page\")");
    println!("  -> {:?}", careful.throw("malformed page".into())?);
    Ok(())
}

/// Prints a line of a generator, further to the right than those of `main`.
fn print(line: String) {
    println!("      {line}");
}

/// Prints the resume points of both generators.
fn print_resume_points<P: Fn(String) + Clone>(caller: &CallerFn<&'static str, P>) {
    let outer = caller.last_yield();
    if let CallerFnFrame::Delegating { generator } = caller.frame() {
        println!(
            "  the outer one stands at {outer:?}, the inner one at {:?}",
            generator.last_yield()
        );
    } else {
        println!("  the outer one stands at {outer:?}, and there is no inner one");
    }
}

// ANCHOR: careful_fn
/// A `try` with a `yield from` in it. The frame needs no field for the `try`:
/// the code that goes on from this place catches the error.
enum CarefulFn {
    Start,
    Trying { generator: GenFn<&'static str, fn(String)> },
    Ended,
}

impl Generator for CarefulFn {
    type Input = &'static str;
    type Yield = i32;
    type Return = &'static str;

    fn advance(&mut self, mut sent: Sent<&'static str>) -> Step<i32, &'static str> {
        let mut generator = match mem::replace(self, Self::Ended) {
            Self::Start => {
                sent?;
                sent = Ok(None);
                GenFn::new(print as fn(String))
            }
            Self::Trying { generator } => generator,
            Self::Ended => panic!("resumed after it had ended"),
        };
        match delegate(&mut generator, sent) {
            ControlFlow::Break(value) => {
                *self = Self::Trying { generator };
                Ok(CoroutineState::Yielded(value))
            }
            ControlFlow::Continue(Ok(value)) => Ok(CoroutineState::Complete(value)),
            ControlFlow::Continue(Err(error)) => {
                print(format!("caught: {error}"));
                Ok(CoroutineState::Complete("all the same"))
            }
        }
    }

    fn last_yield(&self) -> Option<i32> {
        match self {
            Self::Start => Some(NOT_BEGUN),
            Self::Trying { .. } => Some(1),
            Self::Ended => None,
        }
    }
}
// ANCHOR_END: careful_fn
