"""Runs programs, one JSON object in each line of stdin, on the asyncio of CPython,
and writes the log of each: a line "== NUMBER", then one line for each event.

The clock counts nanoseconds and jumps to the next timer. What a program means is
said in program.rs; ours.rs runs the same programs on the runtime of stage 2. What
"Known difference" says here is in the list of asyncio.rs.
"""

import asyncio
import gc
import json
import sys
from asyncio import CancelledError, InvalidStateError

from fair_queue import FairQueue

FUTURES = 3
# A time after all others.
END = 2**63
# The pause of the last task, which goes on with what is pending.
LAST = 2**44
# More rounds of it than a program can need.
ROUNDS = 1000


class Deadlock(Exception):
    """Nothing can happen any more."""


class Raised(Exception):
    """The exception that a program raises."""


class Panic(BaseException):
    """A panic. It is nobody's business, so it is not an `Exception`."""


class Moment(int):
    """A deadline. Known difference: equal ones come in the order in which they were set."""

    count = 0

    def __new__(cls, time):
        self = super().__new__(cls, time)
        Moment.count += 1
        self.order = Moment.count
        return self

    def __lt__(self, other):
        return (int(self), self.order) < (int(other), other.order)


class Loop(asyncio.BaseEventLoop):
    """A loop without sockets, whose clock jumps."""

    def __init__(self):
        super().__init__()
        self.clock = 0
        self._selector = self
        # Timers are due that are before the clock plus this.
        self._clock_resolution = 0.5

    def time(self):
        return self.clock

    def create_future(self):
        # A gather of nothing is one, and may be in another gather.
        return Future(0, self)

    def call_at(self, when, callback, *args, context=None):
        return super().call_at(Moment(when), callback, *args, context=context)

    def select(self, timeout):
        if timeout is None:
            raise Deadlock
        if timeout > 0:
            self.clock = int(self._scheduled[0]._when)
        return ()

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        pass


class Looked:
    """What is known to differ in futures and tasks."""

    # So that sets of futures have the order of the numbers.
    def __hash__(self):
        return self.number

    def cancel(self, *args, **kwargs):
        # Known difference: an exception does not count as retrieved then.
        return not super().done() and super().cancel(*args, **kwargs)

    def exception(self):
        # Known difference: a wait for the first exception, and a cancelled shield, only look.
        caller = sys._getframe(1)
        is_wait = caller.f_code.co_name == "_on_completion"
        is_shield = caller.f_code.co_name == "_inner_done_callback"
        if is_wait or is_shield and caller.f_locals["outer"].cancelled():
            return self._exception
        return super().exception()

    def done(self):
        # Since Python 3.12 a gather of futures that are done is done at once.
        return sys._getframe(1).f_code is not asyncio.gather.__code__ and super().done()


class Future(Looked, asyncio.Future):
    def __init__(self, number, loop):
        self.number = number
        super().__init__(loop=loop)


class Task(Looked, asyncio.Task):
    def __init__(self, number, coroutine, loop):
        self.number = number
        super().__init__(coroutine, loop=loop)


class Callback:
    """A callback of the loop that can be cancelled. Known difference: a timer calls it a
    round later, when it would resume a task, too."""

    def __init__(self, loop, delay, function, *args):
        self.loop, self.function, self.args = loop, function, args
        self.handle = loop.call_later(delay, self.fire) if delay else self.fire()

    def fire(self):
        self.handle = self.loop.call_soon(self.function, *self.args)
        return self.handle

    def cancel(self):
        self.handle.cancel()


class Run:
    def __init__(self, program):
        self.program = program
        self.paced = program["kind"] == "paced"
        self.tasks = program["tasks"]
        self.first_main = FUTURES + len(self.tasks)
        self.scripts = [it["steps"] for it in self.tasks + program["mains"]]
        self.begun = [0 for _ in self.scripts]
        self.loop = Loop()
        self.loop.set_exception_handler(self.complain)
        self.loop.set_task_factory(lambda loop, coroutine, **kwargs: Task(0, coroutine, loop))
        self.queue = FairQueue()
        self.futures = [Future(number, self.loop) for number in range(FUTURES)]
        self.futures += [None for _ in self.tasks]
        self.mains = {}
        self.callbacks = []
        self.handles = []
        self.forgotten = []
        self.detached = []
        self.log = []
        self.complaints = []
        self.spawned = 0
        self.values = 0
        self.items = 0
        self.getting = 0
        self.main_is_running = False
        self.mains_over = 0

    def say(self, actor, text):
        self.log.append(f"{self.loop.time()} {actor} {text}")

    def name(self, number):
        if number < FUTURES:
            return f"f{number}"
        main = number - self.first_main
        return f"m{main}" if main >= 0 else f"t{number}"

    def complain(self, loop, context):
        exception = context.get("exception")
        if "never retrieved" in context["message"]:
            # When it comes depends on who has the last handle, and on the collector.
            self.complaints.append(f"never retrieved: {self.told(exception)}")
        elif exception is not None:
            self.say("loop", f"complains: {self.told(exception)}")

    def run(self):
        for _ in range(self.program["at_first"]):
            self.spawn_next()
        self.detach(self.last_task())
        for number, main in enumerate(self.program["mains"]):
            self.main(number, main)
        try:
            while True:
                self.loop.run_forever()
                self.say("loop", "stopped")
        except Deadlock:
            pass
        # Without the time: asyncio leaves the timer of a cancelled as_completed.
        last = [f"{self.name(number)} {self.state(number)}" for number in range(len(self.futures))]
        last.append(f"carried out: {sum(self.begun)} of {sum(map(len, self.scripts))}")
        for task in asyncio.all_tasks(self.loop):
            task._log_destroy_pending = False
        self.futures = self.mains = self.callbacks = self.handles = None
        self.forgotten = self.detached = None
        gc.collect()
        return self.log + [f"{END} end {line}" for line in last + sorted(self.complaints)]

    def main(self, number, main):
        me = self.first_main + number
        for op in main["before"]:
            self.at_once(me, op)
        self.mains[me] = Task(me, self.run_main(me), self.loop)
        timer = main["timeout"] and self.loop.call_later(main["timeout"], self.mains[me].cancel)
        self.main_is_running = True
        self.loop.run_forever()
        self.main_is_running = False
        self.mains_over = number + 1
        if timer:
            timer.cancel()
        self.say("loop", "timed out" if self.mains[me].cancelled() else "stopped")

    async def run_main(self, me):
        # Known difference: the run ends with this step, and not a round later.
        try:
            await self.script(me)
        finally:
            self.loop.stop()

    def spawn_next(self):
        if self.spawned < len(self.tasks):
            number = FUTURES + self.spawned
            self.spawned += 1
            self.futures[number] = Task(number, self.script(number), self.loop)

    def detach(self, coroutine):
        self.detached.append(Task(0, coroutine, self.loop))

    async def script(self, me):
        try:
            while step := await self.next_step(me):
                if step["op"] == "raise":
                    raise Raised(self.value())
                if step["op"] == "panic":
                    raise Panic(self.value())
                await self.op(me, step)
        except CancelledError:
            if self.is_cancelled() and me < self.first_main:
                self.say(self.name(me), "cancelled")
            raise
        return me

    async def next_step(self, me):
        number = me - FUTURES
        if self.begun[number] == len(self.scripts[number]):
            return None
        step = self.scripts[number][self.begun[number]]
        if self.paced:
            await asyncio.sleep(step["pause"])
        self.begun[number] += 1
        return step["op"]

    def has_more(self, me):
        return self.begun[me - FUTURES] < len(self.scripts[me - FUTURES])

    async def heir(self, me):
        """Does what a cancelled task, or a main coroutine without time, has left."""
        while step := await self.next_step(me):
            if step["op"] not in ("raise", "panic"):
                await self.op(me, step)

    async def last_task(self):
        """Goes on, one thing at a time, with what is pending when nothing else happens."""
        numbers = range(FUTURES, FUTURES + len(self.scripts))
        inherited = set()

        def is_pending(of):
            return self.futures[of] is not None and not self.futures[of].done()

        def is_left(me):
            main = me - self.first_main
            is_gone = main < self.mains_over if main >= 0 else not is_pending(me)
            return is_gone and me not in inherited and self.has_more(me)

        for _ in range(ROUNDS):
            await asyncio.sleep(LAST)
            pending = next(filter(is_pending, range(FUTURES)), None)
            left = next(filter(is_left, numbers), None)
            if pending is not None:
                self.resolve(pending, "last")
            elif self.spawned < len(self.tasks):
                self.spawn_next()
            elif left is not None:
                inherited.add(left)
                self.detach(self.heir(left))
            elif not self.queue.empty():
                item = await self.queue.get()
                self.queue.task_done()
                self.say("last", f"got {item}")
            elif self.getting > 0:
                self.at_once(0, {"op": "put"})
            elif not any(map(is_pending, range(FUTURES, self.first_main))) and not any(
                map(self.has_more, numbers)
            ):
                return

    async def op(self, me, op):
        """Carries out an operation that may wait."""
        name, args = self.split(op)
        if hasattr(self, "wait_" + name):
            await getattr(self, "wait_" + name)(me, **args)
        else:
            self.at_once(me, op)

    def at_once(self, me, op):
        """Carries out an operation that does not wait."""
        name, args = self.split(op)
        getattr(self, "now_" + name)(me, **args)

    def split(self, op):
        return op["op"], {key: value for key, value in op.items() if key != "op"}

    def is_cancelled(self):
        """True if it is the current task that is cancelled, not what it awaits."""
        return asyncio.current_task(self.loop).cancelling() > 0

    def state(self, number):
        future = self.futures[number]
        if future is None:
            return "not spawned"
        if not future.done():
            return "pending"
        if self.program["looks"]:
            return self.outcome_of(future)
        return "cancelled" if future.cancelled() else "done"

    def outcome_of(self, future):
        if future.cancelled():
            return "cancelled"
        exception = future.exception()
        return self.told(future.result() if exception is None else exception)

    def told(self, outcome):
        if isinstance(outcome, CancelledError):
            return "cancelled"
        if isinstance(outcome, TimeoutError):
            return "timed out"
        if isinstance(outcome, Raised):
            return f"raised {outcome}"
        if isinstance(outcome, Panic):
            return f"panicked {outcome}"
        if isinstance(outcome, RuntimeError):
            return "invalid"
        return str(outcome)

    async def awaited(self, awaitable):
        try:
            return self.told(await awaitable)
        except CancelledError as cancelled:
            if self.is_cancelled():
                raise
            return self.told(cancelled)
        except (Exception, Panic) as exception:
            return self.told(exception)

    async def outcome(self, me, what, awaitable):
        outcome = await self.awaited(awaitable)
        self.say(self.name(me), f"{what} {outcome}")

    def value(self):
        self.values += 1
        return self.values

    def several(self, of):
        futures = [self.futures[number] for number in of]
        return [future for future in futures if future is not None]

    def one(self, of):
        """Returns an argument of a combinator."""
        return self.futures[of["future"]] if "future" in of else self.job(**of["job"])

    def many(self, of):
        """Returns the arguments of a combinator."""
        if "futures" in of:
            return self.several(of["futures"])
        return [self.job(**job) for job in of["jobs"]]

    def many_futures(self, of):
        """Known difference: here tasks are made of coroutines in their order."""
        if "futures" in of:
            return self.several(of["futures"])
        return [Task(*it, self.loop) for it in enumerate(self.many(of))]

    async def job(self, ns, rounds, end):
        if ns > 0:
            await asyncio.sleep(ns)
        for _ in range(rounds):
            await asyncio.sleep(0)
        if end == "get":
            item = await self.get()
            self.queue.task_done()
            return item
        value = self.value()
        if end == "raise":
            raise Raised(value)
        if end == "panic":
            raise Panic(value)
        return value

    async def get(self):
        self.getting += 1
        try:
            return await self.queue.get()
        finally:
            self.getting -= 1

    # What waits.

    async def wait_sleep(self, me, ns):
        await asyncio.sleep(ns)
        self.say(self.name(me), "slept")

    async def wait_await(self, me, of):
        future = self.futures[of]
        # Known difference: cancelling a task cancels what it awaits.
        await self.outcome(me, "await", asyncio.shield(future) if self.paced else future)

    async def wait_shield(self, me, of):
        await self.outcome(me, "shield", asyncio.shield(self.one(of)))

    async def wait_timeout_shield(self, me, of, ns):
        async def shielded():
            async with asyncio.timeout(ns):
                return await asyncio.shield(self.futures[of])

        await self.outcome(me, "timeout_shield", shielded())

    async def wait_wait_for(self, me, of, ns):
        wait_for = asyncio.wait_for if self.paced else self.wait_for
        await self.outcome(me, "wait_for", wait_for(self.one(of), ns))
        await self.settle()

    async def wait_for(self, awaitable, timeout):
        """Known difference: the rounds of wait_for, and what happens at its deadline."""
        future = asyncio.ensure_future(awaitable)
        await asyncio.wait([future], timeout=timeout)
        if future.done():
            return future.result()
        future.cancel()
        raise TimeoutError

    async def wait_timeout(self, me, ns, sleep):
        slept = False
        try:
            async with asyncio.timeout(ns):
                await asyncio.sleep(sleep)
                slept = True
        except TimeoutError:
            pass
        self.say(self.name(me), f"timeout, slept: {str(slept).lower()}")

    async def wait_gather(self, me, of):
        await self.outcome(me, "gather", self.gathered(asyncio.gather(*self.many(of))))

    async def wait_gather_outcomes(self, me, of):
        gather = asyncio.gather(*self.many(of), return_exceptions=True)
        await self.outcome(me, "gather_outcomes", self.gathered(gather))

    async def gathered(self, gather):
        return " ".join(map(self.told, await gather))

    async def wait_nested_gather(self, me, of):
        inner = [asyncio.gather(*self.several(it)) for it in of]
        flat = self.flat(asyncio.gather(*inner))
        await self.outcome(me, "nested_gather", flat)

    async def wait_over_gather(self, me, of, by):
        inner = asyncio.gather(*self.several(of))
        inner.add_done_callback(lambda gather: self.gather_done(me, gather))
        await self.outcome(me, "over_gather", self.gathered(self.over(inner, by)))
        await self.settle()

    async def over(self, gather, by):
        if by == "shield":
            return await asyncio.shield(gather)
        if by == "wait":
            await asyncio.wait([gather])
            return gather.result()
        if by == "as_completed":
            return await next(iter(asyncio.as_completed([gather])))
        wait_for = asyncio.wait_for if self.paced else self.wait_for
        return await wait_for(gather, by["wait_for"])

    async def flat(self, gather):
        return " ".join(self.told(it) for results in await gather for it in results)

    async def settle(self):
        # Known difference: what comes with its deadline wakes the task twice.
        if not self.paced:
            await asyncio.sleep(0)

    async def wait_wait(self, me, of, when, ns):
        await self.wait(me, of, when, ns)
        await self.settle()

    async def wait(self, me, of, when, ns):
        futures = self.many_futures(of)
        if not futures:
            return
        done, pending = await asyncio.wait(futures, return_when=when, timeout=ns)
        done, pending = sorted(done, key=hash), sorted(pending, key=hash)
        if "jobs" in of:
            outcomes = " ".join(map(self.outcome_of, done))
            self.say(self.name(me), f"wait [{outcomes}] {len(pending)}")
        else:
            names = [" ".join(self.name(it.number) for it in found) for found in (done, pending)]
            self.say(self.name(me), f"wait [{names[0]}] [{names[1]}]")

    async def wait_as_completed(self, me, of, ns):
        for future in asyncio.as_completed(self.many_futures(of), timeout=ns):
            outcome = await self.awaited(future)
            self.say(self.name(me), f"completed {outcome}")
            if outcome == "timed out":
                # Known difference: the time is up a round later.
                return

    async def wait_get(self, me, rounds):
        item = await self.get()
        self.say(self.name(me), f"got {item}")
        try:
            for _ in range(rounds):
                await asyncio.sleep(0)
        finally:
            self.queue.task_done()

    async def wait_get_timeout(self, me, ns):
        try:
            async with asyncio.timeout(ns):
                item = await self.get()
            self.queue.task_done()
            self.say(self.name(me), f"got {item}")
        except TimeoutError:
            self.say(self.name(me), "got nothing in time")

    async def wait_join(self, me):
        await self.queue.join()
        self.say(self.name(me), "joined")

    # What does not wait.

    def resolve(self, of, actor):
        future = self.futures[of]
        if future is None:
            return
        try:
            future.set_result(self.value())
            self.say(actor, "set")
        except (InvalidStateError, RuntimeError):
            self.say(actor, "refused")

    def now_set_result(self, me, of):
        self.resolve(of, self.name(me))

    def now_set_exception(self, me, of):
        try:
            self.futures[of].set_exception(Raised(self.value()))
            self.say(self.name(me), "set exception")
        except InvalidStateError:
            self.say(self.name(me), "refused")

    def now_cancel(self, me, of):
        future = self.futures[of]
        if future is not None:
            self.say(self.name(me), f"cancel {self.name(of)} {str(future.cancel()).lower()}")

    def now_put_and_cancel(self, me, of):
        self.now_put(me)
        self.now_cancel(me, of)

    def now_end_all(self, me, ends):
        for op in ends:
            self.at_once(me, op)

    def now_cancel_shield(self, me, of):
        future = self.futures[of]
        shield = asyncio.shield(future)
        cancelled = shield is not future and shield.cancel()
        self.say(self.name(me), f"cancel shield {str(cancelled).lower()}")

    def now_forget_gather(self, me, of):
        self.forget(me, asyncio.gather(*self.many(of)))

    def now_forget_nested(self, me, of):
        self.forget(me, asyncio.gather(asyncio.gather(*self.several(of))))

    def forget(self, me, gather):
        gather.add_done_callback(lambda gather: self.gather_done(me, gather))
        self.forgotten.append(gather)

    def gather_done(self, me, gather):
        # Known difference: here it is not cancelled if one of its children is, but
        # has the exception CancelledError.
        if not gather.cancelled() and not isinstance(gather.exception(), CancelledError):
            done = gather.exception() is None
            self.say(f"gather-of-{self.name(me)}", f"gathered {str(done).lower()}")

    def now_cancel_gather(self, me):
        cancelled = bool(self.forgotten) and self.forgotten.pop().cancel()
        self.say(self.name(me), f"gather cancelled {str(cancelled).lower()}")

    def now_call_soon(self, me, then):
        self.handles.append(Callback(self.loop, 0, self.resolve, then, f"soon-{self.name(me)}"))

    def now_call_later(self, me, then, ns):
        self.handles.append(Callback(self.loop, ns, self.resolve, then, f"later-{self.name(me)}"))

    def now_call_at(self, me, then, ns):
        self.handles.append(Callback(self.loop, ns, self.resolve, then, f"at-{self.name(me)}"))

    def now_call_panic(self, me):
        self.loop.call_soon(self.panic)

    def panic(self):
        raise Panic(self.value())

    def now_cancel_handle(self, me):
        if self.handles:
            self.handles.pop().cancel()

    def now_add_callback(self, me, of, then, ns):
        future = self.futures[of]
        if future is None:
            return
        actor = f"callback-{len(self.callbacks)}"

        def callback(_):
            is_task = asyncio.current_task(self.loop) is not None
            self.say(actor, f"called, in a task: {str(is_task).lower()}")
            if self.paced:
                self.loop.call_later(ns, self.resolve, then, actor)
            else:
                self.resolve(then, actor)

        self.callbacks.append((of, callback))
        future.add_done_callback(callback)

    def now_remove_callback(self, me):
        if self.callbacks:
            of, callback = self.callbacks[-1]
            removed = self.futures[of].remove_done_callback(callback)
            self.say(self.name(me), f"removed {removed}")

    def now_spawn(self, me):
        self.spawn_next()

    def now_detach(self, me, job):
        async def detached():
            self.say("detached", await self.job(**job))

        self.detach(detached())

    def now_put(self, me):
        self.queue.put_nowait(self.items)
        self.items += 1

    def now_probe(self, me, of):
        is_current = me < self.first_main and asyncio.current_task(self.loop) is self.futures[me]
        self.say(self.name(me), f"{self.name(of)} is {self.state(of)}, {str(is_current).lower()}")

    def now_stop(self, me):
        may_stop = not self.main_is_running
        if may_stop:
            self.loop.stop()
        self.say(self.name(me), f"stop {str(may_stop).lower()}")


def main():
    # A pending task cannot end in order when its loop is gone.
    sys.unraisablehook = lambda _: None
    gc.freeze()
    for number, line in enumerate(sys.stdin):
        print(f"== {number}", *Run(json.loads(line)).run(), sep="\n", flush=True)


main()
