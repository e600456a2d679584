//! The life of a generator, step by step: it is made, begun, sent values, and
//! ended; another one is thrown into, a third one is closed. Once as a state
//! machine written by hand, once as an `async fn`.
#![allow(clippy::print_stdout)]

use std::fmt::{self, Debug, Display};

use stage2_coroutines::generator::{self, AsyncGenerator, GenFn, Generator, Thrown};

fn main() -> Result<(), Thrown> {
    println!("written by hand:");
    let mut by_hand = GenFn::new(print);
    let size_by_hand = size_of_val(&by_hand);
    session(&mut by_hand, |generator| format!("in {:?}", generator.frame()))?;

    println!("written by the compiler:");
    let mut by_compiler = AsyncGenerator::new(|channel| generator::gen_fn(channel, print));
    let size_by_compiler = by_compiler.frame_size().unwrap_or_default();
    session(&mut by_compiler, |_| "where the compiler knows".into())?;

    println!("their frames:");
    println!("  by hand, bytes: {size_by_hand}");
    println!("  by the compiler, bytes: {size_by_compiler}");

    outlive_the_call()?;
    throw()?;
    close()
}

/// Prints a line of a generator, further to the right than those of `main`.
fn print(line: String) {
    println!("      {line}");
}

// ANCHOR: session
fn session<G>(generator: &mut G, frame: impl Fn(&G) -> String) -> Result<(), Thrown>
where
    G: Generator<Input = &'static str, Yield: Debug, Return: Debug>,
{
    println!("  made, and nothing of it has run");
    for input in [None, Some("hello"), Some("goodbye")] {
        println!("  it stands at {:?}, {}", generator.last_yield(), frame(generator));
        println!("  resume({input:?})");
        println!("  -> {:?}", generator.resume(input)?);
    }
    println!("  it stands at {:?}", generator.last_yield());
    Ok(())
}
// ANCHOR_END: session

// ANCHOR: outlive
/// Resumes generators after the function that made them and the function that
/// began them have returned. Their frames stay at the same place in memory.
fn outlive_the_call() -> Result<(), Thrown> {
    type OnTheHeap = Box<GenFn<&'static str, fn(String)>>;

    fn make() -> OnTheHeap {
        Box::new(GenFn::new(print))
    }

    fn begin(mut generator: OnTheHeap) -> Result<OnTheHeap, Thrown> {
        generator.resume(None)?;
        Ok(generator)
    }

    println!("two generators of one function, each with a frame of its own:");
    let (mut one, mut other) = (begin(make())?, begin(make())?);
    let address = &raw const *one;
    one.resume(Some("one"))?;
    other.resume(Some("other"))?;
    println!("  {:?} and {:?}", one.frame(), other.frame());
    let moved = one;
    println!("  a new owner, the same place: {}", &raw const *moved == address);
    Ok(())
}
// ANCHOR_END: outlive

// ANCHOR: throw
fn throw() -> Result<(), Thrown> {
    println!("thrown into at the first yield:");
    let mut generator = GenFn::<&str, _>::new(print);
    generator.resume(None)?;
    println!("  throw(\"malformed page\")");
    match generator.throw("malformed page".into()) {
        Ok(state) => println!("  -> {state:?}"),
        Err(error) => println!("  raises: {error}"),
    }
    println!("  it stands at {:?}", generator.last_yield());

    println!("sent something before there is a yield:");
    let mut generator = GenFn::new(print);
    if let Err(error) = generator.resume(Some("too early")) {
        println!("  raises: {error}");
    }
    println!("  it stands at {:?}", generator.last_yield());
    Ok(())
}
// ANCHOR_END: throw

// ANCHOR: close
/// A local variable that prints a line when it is dropped.
struct Loud(&'static str);

impl Display for Loud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Drop for Loud {
    fn drop(&mut self) {
        print(format!("{} is dropped", self.0));
    }
}

fn close() -> Result<(), Thrown> {
    println!("closed at the second yield, by dropping it:");
    let mut generator = GenFn::new(print);
    generator.resume(None)?;
    generator.resume(Some(Loud("a local variable")))?;
    println!("  drop");
    drop(generator);
    println!("  closed");
    Ok(())
}
// ANCHOR_END: close
