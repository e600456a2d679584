//! Generators written by hand, compared with those of the compiler.

use std::cell::RefCell;
use std::fmt::{self, Debug, Display};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use stage2_coroutines::generator::CoroutineState::{Complete, Yielded};
use stage2_coroutines::generator::{
    self, AsyncGenerator, CallerFn, CallerFnFrame, GenFn, GenFnFrame, Generator, NOT_BEGUN,
    NotBegun, Sent, Thrown,
};

/// A log of the lines that a generator prints and the results it returns.
type Log = Rc<RefCell<Vec<String>>>;

fn print_to(log: &Log) -> impl Fn(String) + Clone + use<> {
    let log = Rc::clone(log);
    move |line| log.borrow_mut().push(line)
}

fn silent(_line: String) {}

/// A message to a generator.
#[derive(Clone, Copy, Debug)]
enum Message {
    Nothing,
    Value(&'static str),
    Error,
}

impl Message {
    fn sent(self) -> Sent<&'static str> {
        match self {
            Self::Nothing => Ok(None),
            Self::Value(value) => Ok(Some(value)),
            Self::Error => Err("thrown".into()),
        }
    }
}

/// Returns all sequences of up to four messages.
fn all_conversations() -> Vec<Vec<Message>> {
    let messages = [Message::Nothing, Message::Value("value"), Message::Error];
    let mut all = vec![Vec::new()];
    for length in 0..4 {
        let last: Vec<_> = all.iter().filter(|talk| talk.len() == length).cloned().collect();
        for talk in last {
            all.extend(messages.map(|message| [talk.as_slice(), &[message]].concat()));
        }
    }
    all
}

/// Sends the messages until the generator has ended, and logs the result of
/// each.
fn talk<G>(generator: &mut G, log: &Log, messages: &[Message])
where
    G: Generator<Input = &'static str, Yield: Debug, Return: Debug>,
{
    for message in messages {
        log.borrow_mut().push(format!("{message:?} at {:?}", generator.last_yield()));
        let resumed = match message.sent() {
            Ok(input) => generator.resume(input),
            Err(error) => generator.throw(error),
        };
        let resumed = resumed.map_err(|error| error.to_string());
        log.borrow_mut().push(format!("{resumed:?}"));
        if generator.last_yield().is_none() {
            return;
        }
    }
}

/// Sends messages to a new generator that prints to a log, and returns the log.
macro_rules! log_of {
    ($messages:expr, |$print:ident| $generator:expr) => {{
        let log = Log::default();
        let $print = print_to(&log);
        talk(&mut $generator, &log, $messages);
        log.take()
    }};
}

#[test]
fn by_hand_and_by_the_compiler_they_are_the_same() {
    let all = all_conversations();
    assert_eq!(all.len(), 1 + 3 + 9 + 27 + 81);
    for messages in &all {
        let by_hand = log_of!(messages, |print| GenFn::new(print));
        let by_compiler = log_of!(messages, |print| AsyncGenerator::new(|channel| {
            generator::gen_fn(channel, print)
        }));
        assert_eq!(by_hand, by_compiler, "{messages:?}");
    }
}

#[test]
fn a_delegation_is_a_channel_without_friction() {
    for messages in all_conversations() {
        let without_place = |line: &String| {
            let (message, _) = line.split_once(" at ").unwrap_or((line, ""));
            message.to_owned()
        };
        let direct = log_of!(&messages, |print| GenFn::new(print));
        let by_hand = log_of!(&messages, |print| CallerFn::new(print));
        let by_compiler = log_of!(&messages, |print| AsyncGenerator::new(|channel| {
            generator::caller_fn(channel, print)
        }));
        // The outer generator stays at one place while the inner one goes on.
        let by_hand: Vec<_> = by_hand.iter().map(without_place).collect();
        let by_compiler: Vec<_> = by_compiler.iter().map(without_place).collect();
        assert_eq!(by_hand, by_compiler, "{messages:?}");
        // Until the inner one returns, the outer one makes no difference.
        let mut expected: Vec<_> = direct.iter().map(without_place).collect();
        if let Some(last) = expected.pop_if(|last| last.contains("Complete")) {
            assert_eq!(last, "Ok(Complete(\"done\"))");
            expected.extend(["gen_fn returned done".into(), "Ok(Complete(()))".into()]);
        }
        assert_eq!(by_hand, expected, "{messages:?}");
    }
}

#[test]
fn a_call_runs_nothing_and_each_resume_goes_to_the_next_yield() {
    let log = Log::default();
    let mut generator = GenFn::new(print_to(&log));
    assert_eq!(generator.last_yield(), Some(NOT_BEGUN));
    assert_eq!(generator.resume(None).unwrap(), Yielded(1));
    assert_eq!(generator.last_yield(), Some(1));
    assert!(log.borrow().is_empty());
    assert_eq!(generator.resume(Some("hello")).unwrap(), Yielded(2));
    assert_eq!(generator.last_yield(), Some(2));
    assert!(matches!(generator.frame(), GenFnFrame::Second { result: Some("hello") }));
    assert_eq!(generator.resume(Some("goodbye")).unwrap(), Complete("done"));
    assert_eq!(generator.last_yield(), None);
    assert_eq!(*log.borrow(), ["the first yield gave hello", "the second yield gave goodbye"]);
}

#[test]
fn the_outer_generator_stays_while_the_inner_one_goes_on() {
    let inner = |caller: &CallerFn<&str, fn(String)>| match caller.frame() {
        CallerFnFrame::Delegating { generator } => generator.last_yield(),
        _ => None,
    };
    let mut caller = CallerFn::new(silent as fn(String));
    assert_eq!((caller.last_yield(), inner(&caller)), (Some(NOT_BEGUN), None));
    caller.resume(None).unwrap();
    assert_eq!((caller.last_yield(), inner(&caller)), (Some(1), Some(1)));
    caller.resume(Some("hello")).unwrap();
    assert_eq!((caller.last_yield(), inner(&caller)), (Some(1), Some(2)));
    caller.resume(Some("goodbye")).unwrap();
    assert_eq!((caller.last_yield(), inner(&caller)), (None, None));
}

#[test]
fn sending_a_value_before_the_first_yield_is_an_error() {
    let mut generator = GenFn::new(silent);
    let error = generator.resume(Some("too early")).unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&NotBegun));
    // It is as it was.
    assert_eq!(generator.resume(None).unwrap(), Yielded(1));
}

#[test]
fn an_ended_generator_raises_a_thrown_error_and_panics_otherwise() {
    fn check(mut generator: impl Generator<Input = &'static str, Return: Debug, Yield: Debug>) {
        while generator.last_yield().is_some() {
            generator.resume(None).unwrap();
        }
        assert_eq!(generator.throw("late".into()).unwrap_err().to_string(), "late");
        let resume = AssertUnwindSafe(|| generator.resume(None).is_ok());
        assert!(catch_unwind(resume).is_err());
    }
    check(GenFn::new(silent));
    check(CallerFn::new(silent));
    check(AsyncGenerator::new(|channel| generator::gen_fn(channel, silent)));
}

/// A local variable that logs its drop.
struct Loud(Log);

impl Display for Loud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("loud")
    }
}

impl Drop for Loud {
    fn drop(&mut self) {
        self.0.borrow_mut().push("dropped".into());
    }
}

#[test]
fn closing_drops_the_local_variables_that_are_alive() {
    fn check(mut generator: impl Generator<Input = Loud, Return: Debug, Yield: Debug>) {
        let log = Log::default();
        generator.resume(None).unwrap();
        generator.resume(Some(Loud(Rc::clone(&log)))).unwrap();
        assert!(log.borrow().is_empty());
        drop(generator);
        assert_eq!(*log.borrow(), ["dropped"]);
    }
    check(GenFn::new(silent));
    check(CallerFn::new(silent));
    check(AsyncGenerator::new(|channel| generator::gen_fn(channel, silent)));
}

#[test]
fn two_generators_of_one_function_have_a_frame_each() {
    let mut one = Box::new(GenFn::new(silent));
    let mut other = Box::new(GenFn::new(silent));
    one.resume(None).unwrap();
    assert_eq!((one.last_yield(), other.last_yield()), (Some(1), Some(NOT_BEGUN)));
    other.resume(None).unwrap();
    one.resume(Some("one")).unwrap();
    other.resume(Some("other")).unwrap();
    assert!(matches!(one.frame(), GenFnFrame::Second { result: Some("one") }));
    assert!(matches!(other.frame(), GenFnFrame::Second { result: Some("other") }));
}

#[test]
fn an_async_fn_that_awaits_anything_but_its_channel_is_no_generator() {
    let waits = |_channel: generator::Channel<(), i32>| pending::<Result<(), Thrown>>();
    let mut generator = AsyncGenerator::new(waits);
    let error = generator.resume(None).unwrap_err();
    assert_eq!(error.to_string(), "it awaited something else than its channel");
    assert_eq!(generator.last_yield(), None);
}

#[test]
fn a_frame_has_a_size_until_it_has_ended() {
    let mut generator = AsyncGenerator::new(|channel| generator::gen_fn::<&str>(channel, silent));
    let size = generator.frame_size().unwrap();
    let by_hand = size_of_val(&GenFn::<&str, _>::new(silent));
    assert!(by_hand <= size && size < 16 * by_hand, "{by_hand} by hand, {size} by the compiler");
    assert!(generator.throw("over".into()).is_err());
    assert_eq!(generator.frame_size(), None);
}
