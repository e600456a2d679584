//! A conversation with a generator: what is sent, what comes out, and its frame.

use stage2_coroutines::generator::{CoroutineState, GenFn, GenFnFrame, Generator, Thrown};

use crate::scene::{Choices, Scene};

const CALLER: usize = 0;
const GENERATOR: usize = 1;

/// The most things that are done to one generator.
const MAX_STEPS: usize = 20;

/// A local variable or a value that is sent. It tells when it is dropped.
struct Loud(&'static str, Scene);

impl std::fmt::Display for Loud {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl Drop for Loud {
    fn drop(&mut self) {
        self.1.add(GENERATOR, format!("{} is dropped", self.0));
    }
}

pub(crate) fn play(choices: &Choices<'_>) -> Result<Scene, String> {
    let scene = Scene::new(&["caller", "generator"]);
    let says = scene.clone();
    let made = GenFn::new(move |line| says.add(GENERATOR, line));
    scene.add_with(CALLER, "calls gen_fn(): nothing of it runs", [frame(&made)]);
    let mut generator = Some(made);
    let done = choices.text("do").split(',').filter(|what| !what.is_empty());
    for (step, what) in done.enumerate() {
        if step == MAX_STEPS {
            scene.add(CALLER, format!("no more than {MAX_STEPS} steps: begin again"));
            break;
        }
        let Some(running) = &mut generator else {
            scene.add(CALLER, "there is no generator any more");
            break;
        };
        if what == "drop" {
            scene.add(CALLER, "drops the generator");
            generator = None;
            scene.add(CALLER, "the generator is gone, and its local variables with it");
            continue;
        }
        if running.last_yield().is_none() && what != "throw" {
            scene.add(CALLER, "it has ended: one more resume would panic");
            continue;
        }
        let resumed = match what {
            "resume" => {
                scene.add(CALLER, "resume(None)");
                running.resume(None)
            }
            "hello" | "goodbye" => {
                let word = if what == "hello" { "hello" } else { "goodbye" };
                scene.add(CALLER, format!("resume(Some(\"{word}\"))"));
                running.resume(Some(Loud(word, scene.clone())))
            }
            "throw" => {
                scene.add(CALLER, "throw(\"malformed page\")");
                running.throw("malformed page".into())
            }
            other => {
                return Err(format!("do={other}: expected resume, hello, goodbye, throw or drop"));
            }
        };
        tell(&scene, resumed, frame(running));
    }
    scene.end("Its frame is an ordinary value: it is wherever its owner keeps it.");
    Ok(scene)
}

/// Tells what a step gives.
fn tell(
    scene: &Scene,
    resumed: Result<CoroutineState<i32, &'static str>, Thrown>,
    frame: (&'static str, String),
) {
    let text = match resumed {
        Ok(CoroutineState::Yielded(value)) => format!("yields {value}"),
        Ok(CoroutineState::Complete(value)) => format!("returns \"{value}\""),
        Err(error) => format!("raises: {error}"),
    };
    scene.add_with(GENERATOR, text, [frame]);
}

/// The state that is shown: where it stands, with what is alive there.
fn frame<P>(generator: &GenFn<Loud, P>) -> (&'static str, String) {
    let text = match generator.frame() {
        GenFnFrame::Start => "Start".to_owned(),
        GenFnFrame::First => "First".to_owned(),
        GenFnFrame::Second { result: Some(value) } => format!("Second, with {value}"),
        GenFnFrame::Second { result: None } => "Second, with None".to_owned(),
        GenFnFrame::Ended => "Ended".to_owned(),
    };
    ("frame", text)
}
