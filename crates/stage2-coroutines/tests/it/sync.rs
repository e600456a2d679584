//! Waiting in line: the order, cancellation before and after a turn is given, and what the
//! end of a loop does to those who wait. And a semaphore against a model.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::time::Duration;

use proptest::prelude::*;
use stage2_coroutines::sync::{Event, Mutex, Permit, Semaphore, WaitQueue};
use stage2_coroutines::{
    Coroutine, EventLoop, Exception, Future, Inspect, Runtime, Task, sleep, yield_now,
};
use test_support::event_loops::{run, virtual_loop};

const SECOND: Duration = Duration::from_secs(1);

/// Has every task that was woken take a step.
fn run_one_round(runtime: &Runtime) {
    run(runtime, yield_now(runtime.event_loop()));
}

/// The order in which tasks went on.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<String>>);

impl Log {
    /// Spawns one task for each name, which adds it when the coroutine is done.
    fn spawn<const N: usize, C: Coroutine + 'static>(
        &self,
        event_loop: &EventLoop,
        names: [char; N],
        coroutine: impl Fn() -> C,
    ) -> [Task<C::Output>; N] {
        names.map(|name| {
            let (log, coroutine) = (self.clone(), coroutine());
            Task::spawn(event_loop, async move {
                let output = coroutine.await;
                log.0.borrow_mut().push(name);
                output
            })
        })
    }

    fn take(&self) -> String {
        self.0.take()
    }
}

fn wait_in_line(
    queue: &Rc<WaitQueue>,
    pass_on: fn(&WaitQueue),
) -> impl Coroutine<Output = ()> + use<> {
    let queue = Rc::clone(queue);
    async move {
        queue.wait(Location::caller(), || pass_on(&queue)).await;
    }
}

#[test]
fn turns_are_given_in_the_order_in_which_tasks_came() {
    let (runtime, log) = (virtual_loop(), Log::default());
    let event_loop = runtime.event_loop();
    let queue = Rc::new(WaitQueue::new(event_loop, &"a turn"));
    assert!(!queue.wake_one(), "nobody waits");
    let _tasks = log.spawn(event_loop, ['a', 'b', 'c', 'd'], || wait_in_line(&queue, |_| ()));
    assert!(queue.is_empty(), "before their first step they do not wait");
    run_one_round(&runtime);
    assert_eq!(queue.len(), 4);
    assert!(queue.wake_one() && queue.wake_one());
    assert_eq!((queue.len(), log.take()), (2, String::new()), "a turn runs nothing");
    run_one_round(&runtime);
    assert_eq!(log.take(), "ab");
    let _late = log.spawn(event_loop, ['e'], || wait_in_line(&queue, |_| ()));
    queue.wake_all();
    run_one_round(&runtime);
    run_one_round(&runtime);
    assert_eq!((queue.len(), log.take()), (1, "cd".to_owned()), "the late one waits");
}

#[test]
fn a_turn_that_is_not_taken_is_passed_on() {
    for is_given_first in [false, true] {
        let (runtime, log) = (virtual_loop(), Log::default());
        let event_loop = runtime.event_loop();
        let queue = Rc::new(WaitQueue::new(event_loop, &"a turn"));
        let passes_on = || wait_in_line(&queue, |queue| _ = queue.wake_one());
        let [first, second, _third] = log.spawn(event_loop, ['a', 'b', 'c'], passes_on);
        run_one_round(&runtime);
        if is_given_first {
            queue.wake_one();
        }
        assert!(first.cancel());
        assert!(second.cancel(), "it has the turn of the first, or is the first");
        if !is_given_first {
            queue.wake_one();
        }
        run_one_round(&runtime);
        assert_eq!((queue.len(), log.take()), (0, "c".to_owned()));
    }
}

#[test]
fn waiting_in_another_loop_is_a_panic() {
    let (here, there) = (virtual_loop(), virtual_loop());
    let queue = Rc::new(WaitQueue::new(there.event_loop(), &"a turn"));
    let waits = || here.run_until_complete(wait_in_line(&queue, |_| ()));
    assert!(catch_unwind(AssertUnwindSafe(waits)).is_err());
    assert!(queue.is_empty());
}

#[test]
fn an_event_wakes_all_in_order_even_if_it_is_cleared_at_once() {
    let (runtime, log) = (virtual_loop(), Log::default());
    let event_loop = runtime.event_loop();
    let event = Rc::new(Event::new(event_loop));
    let waits = || {
        let event = Rc::clone(&event);
        async move { event.wait().await }
    };
    let [_, cancelled, woken, _] = log.spawn(event_loop, ['a', 'b', 'c', 'd'], waits);
    run_one_round(&runtime);
    cancelled.cancel();
    event.set();
    event.clear();
    woken.cancel();
    let _late = log.spawn(event_loop, ['e'], waits);
    run_one_round(&runtime);
    run_one_round(&runtime);
    assert_eq!(log.take(), "ad", "the late one finds it cleared");
    event.set();
    run_one_round(&runtime);
    assert_eq!(log.take(), "e");
    assert!(event.is_set());
    let begun = event_loop.stats().polls;
    run(&runtime, event.wait());
    assert_eq!(event_loop.stats().polls - begun, 1, "one that is set is not waited for");
}

/// Acquires a permit, and gives it back at once.
fn works(semaphore: &Rc<Semaphore>) -> impl Coroutine<Output = ()> + use<> {
    let semaphore = Rc::clone(semaphore);
    async move {
        let _permit = semaphore.acquire().await;
    }
}

#[test]
fn a_permit_goes_to_the_one_that_has_waited_longest_and_nobody_overtakes() {
    let (runtime, log) = (virtual_loop(), Log::default());
    let event_loop = runtime.event_loop();
    let semaphore = Rc::new(Semaphore::new(event_loop, 1));
    let held = run(&runtime, semaphore.acquire());
    let _tasks = log.spawn(event_loop, ['a', 'b'], || works(&semaphore));
    run_one_round(&runtime);
    assert_eq!((semaphore.free(), semaphore.num_waiting()), (0, 2));
    drop(held);
    assert_eq!((semaphore.free(), semaphore.num_waiting()), (0, 1), "it is given already");
    // This one takes its step before those that have to be woken.
    run(&runtime, async {
        drop(semaphore.acquire().await);
        assert_eq!(log.take(), "ab");
    });
    assert_eq!((semaphore.free(), semaphore.num_waiting()), (1, 0));
}

#[test]
fn permits_can_be_added_and_used_up() {
    let (runtime, log) = (virtual_loop(), Log::default());
    let semaphore = Rc::new(Semaphore::new(runtime.event_loop(), 0));
    let _tasks = log.spawn(runtime.event_loop(), ['a', 'b'], || {
        let semaphore = Rc::clone(&semaphore);
        async move {
            let permit = semaphore.acquire().await;
            permit.forget();
        }
    });
    run_one_round(&runtime);
    semaphore.release();
    run_one_round(&runtime);
    assert_eq!(log.take(), "a");
    semaphore.release();
    semaphore.release();
    run_one_round(&runtime);
    assert_eq!((log.take(), semaphore.free()), ("b".to_owned(), 1));
}

#[test]
fn a_loop_that_is_closed_frees_those_who_wait() {
    let (runtime, log) = (virtual_loop(), Log::default());
    let event_loop = runtime.event_loop().clone();
    let semaphore = Rc::new(Semaphore::new(&event_loop, 1));
    let held = run(&runtime, semaphore.acquire());
    let tasks = log.spawn(&event_loop, ['a', 'b', 'c'], || works(&semaphore));
    run_one_round(&runtime);
    drop(held);
    // The first has the permit and not gone on; it is passed on from one to the next.
    drop((runtime, tasks));
    assert_eq!((semaphore.free(), semaphore.num_waiting()), (1, 0));
    assert_eq!((log.take(), Rc::strong_count(&semaphore)), (String::new(), 1));
    semaphore.release();
    assert_eq!(semaphore.free(), 2, "it needs no loop that runs");
}

#[test]
fn a_mutex_is_held_by_one_task_at_a_time_in_order() {
    let (runtime, log) = (virtual_loop(), Log::default());
    let event_loop = runtime.event_loop().clone();
    let (mutex, is_inside) = (Rc::new(Mutex::new(&event_loop)), Rc::new(Cell::new(false)));
    let locks = || {
        let (mutex, is_inside) = (Rc::clone(&mutex), Rc::clone(&is_inside));
        let inside = event_loop.clone();
        async move {
            let _guard = mutex.lock().await;
            assert!(mutex.is_locked() && !is_inside.replace(true));
            sleep(&inside, SECOND).await;
            is_inside.set(false);
        }
    };
    let begun = event_loop.now();
    let [a, b, c, d] = log.spawn(&event_loop, ['a', 'b', 'c', 'd'], locks);
    run_one_round(&runtime);
    b.cancel();
    run(&runtime, a).unwrap();
    run(&runtime, c).unwrap();
    run_one_round(&runtime);
    // It holds the mutex, and its cancellation unlocks that.
    assert!(is_inside.take() && mutex.is_locked());
    d.cancel();
    assert!(!mutex.is_locked());
    assert_eq!((log.take(), event_loop.now() - begun), ("ac".to_owned(), SECOND * 2));
}

/// What a test does with a semaphore, and with tasks that each acquire one permit.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// Lets the loop run one batch.
    Yield,
    /// Spawns a task.
    Spawn,
    /// Cancels a task, whatever it does.
    Cancel(usize),
    /// Has a task that holds a permit end in this way when it goes on.
    End(usize, End),
    /// Adds a permit.
    Add,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Return,
    Panic,
    Forget,
}

fn op() -> impl Strategy<Value = Op> {
    let end = prop_oneof![4 => Just(End::Return), 2 => Just(End::Panic), 1 => Just(End::Forget)];
    prop_oneof![
        6 => Just(Op::Yield),
        6 => Just(Op::Spawn),
        3 => (0..20_usize).prop_map(Op::Cancel),
        5 => (0..20_usize, end).prop_map(|(task, end)| Op::End(task, end)),
        1 => Just(Op::Add),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    Waits,
    /// It has its turn and has not gone on.
    Given,
    Holds,
    Gone,
}

/// The model: what a fair semaphore does, in the simplest words.
struct Model {
    free: usize,
    /// The number of permits that nobody gave back.
    forgotten: usize,
    line: VecDeque<usize>,
    /// Those who have their turn, in the order in which they got it.
    given: VecDeque<usize>,
    tasks: Vec<State>,
}

impl Model {
    fn give_back(&mut self) {
        match self.line.pop_front() {
            Some(first) => {
                self.tasks[first] = State::Given;
                self.given.push_back(first);
            }
            None => self.free += 1,
        }
    }

    /// A task asks for a permit.
    fn comes(&mut self, task: usize) {
        if self.free > 0 {
            self.free -= 1;
            self.tasks[task] = State::Given;
            // At once, before those who have to be woken.
            self.given.push_front(task);
        } else {
            self.tasks[task] = State::Waits;
            self.line.push_back(task);
        }
    }

    /// A task has got its permit.
    fn goes_on(&mut self, task: usize) {
        assert_eq!(self.given.pop_front(), Some(task), "it was not its turn");
        self.tasks[task] = State::Holds;
    }

    fn cancelled(&mut self, task: usize) {
        match std::mem::replace(&mut self.tasks[task], State::Gone) {
            State::Waits => self.line.retain(|it| *it != task),
            State::Given => {
                self.given.retain(|it| *it != task);
                self.give_back();
            }
            // The guard of a permit has given it back.
            State::New | State::Holds | State::Gone => {}
        }
    }
}

/// A permit, and its counterpart in the model.
struct Held<'s> {
    permit: Option<Permit<'s>>,
    model: Rc<RefCell<Model>>,
    task: usize,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut model = self.model.borrow_mut();
        model.tasks[self.task] = State::Gone;
        match self.permit {
            Some(_) => model.give_back(),
            None => model.forgotten += 1,
        }
    }
}

async fn hold(semaphore: Rc<Semaphore>, model: Rc<RefCell<Model>>, task: usize, end: Future<End>) {
    model.borrow_mut().comes(task);
    let permit = Some(semaphore.acquire().await);
    model.borrow_mut().goes_on(task);
    let mut held = Held { permit, model, task };
    match end.await {
        Ok(End::Panic) => resume_unwind(Box::new("on purpose")),
        Ok(End::Forget) => held.permit.take().into_iter().for_each(Permit::forget),
        Ok(End::Return) | Err(_) => {}
    }
}

fn check_semaphore(permits: usize, ops: &[Op]) -> Result<(), TestCaseError> {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let semaphore = Rc::new(Semaphore::new(&event_loop, permits));
    let model = Rc::new(RefCell::new(Model {
        free: permits,
        forgotten: 0,
        line: VecDeque::new(),
        given: VecDeque::new(),
        tasks: Vec::new(),
    }));
    let mut tasks: Vec<(Task<()>, Future<End>)> = Vec::new();
    let mut total = permits;
    let is_as_the_model = |total: usize| {
        let model = model.borrow();
        prop_assert_eq!(semaphore.free(), model.free);
        prop_assert_eq!(semaphore.num_waiting(), model.line.len());
        prop_assert!(model.free == 0 || model.line.is_empty(), "a permit that nobody gets");
        let held = model.tasks.iter().filter(|state| **state == State::Holds).count();
        prop_assert_eq!(model.free + model.given.len() + held + model.forgotten, total);
        Ok(())
    };
    for op in ops {
        match *op {
            Op::Yield => run_one_round(&runtime),
            Op::Spawn => {
                let (end, number) = (Future::new(&event_loop), tasks.len());
                model.borrow_mut().tasks.push(State::New);
                let holds = hold(Rc::clone(&semaphore), Rc::clone(&model), number, end.clone());
                tasks.push((Task::spawn(&event_loop, holds), end));
            }
            Op::Cancel(number) => {
                if let Some((task, _)) = tasks.get(number)
                    && task.cancel()
                {
                    model.borrow_mut().cancelled(number);
                }
            }
            Op::End(number, end) => {
                if let Some((_, ends)) = tasks.get(number) {
                    // Refused if it is to end in another way already.
                    let _ = ends.set_result(end);
                }
            }
            Op::Add => {
                total += 1;
                model.borrow_mut().give_back();
                semaphore.release();
            }
        }
        is_as_the_model(total)?;
    }
    // Everybody who is left goes on, one after the other, as far as the permits go.
    for (_, end) in &tasks {
        let _ = end.set_result(End::Return);
    }
    for _ in 0..=tasks.len() {
        run_one_round(&runtime);
        is_as_the_model(total)?;
    }
    let (left, forgotten) = (total - model.borrow().forgotten, model.borrow().forgotten);
    for (task, _) in &tasks {
        let is_expected = match task.future().take_result() {
            None => left == 0,
            Some(Err(e)) => matches!(e, Exception::Panicked(_) | Exception::Cancelled),
            Some(Ok(())) => true,
        };
        prop_assert!(is_expected, "{task:?}, {left} permits, {forgotten} used up");
    }
    drop((runtime, tasks));
    prop_assert_eq!((semaphore.free(), semaphore.num_waiting()), (left, 0));
    prop_assert_eq!(Rc::strong_count(&semaphore), 1);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: test_support::cases(512),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_semaphore_does_what_the_model_does(
        permits in 0..3_usize,
        ops in prop::collection::vec(op(), 0..60),
    ) {
        check_semaphore(permits, &ops)?;
    }
}
