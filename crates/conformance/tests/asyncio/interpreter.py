"""Runs programs, one JSON object in each line of stdin, on the asyncio of CPython,
and writes the log of each: a line "== NUMBER", then one line for each event.

The clock counts nanoseconds and jumps to the next timer. What a program means is
said in program.rs; ours.rs runs the same programs on the runtime of stage 2.
"""

import asyncio
import json
import sys
from asyncio import CancelledError, InvalidStateError

FUTURES = 3
# A time after all others.
END = 2**63


class Deadlock(Exception):
    """Nothing can happen any more."""


class Raised(Exception):
    """The exception that a program raises."""


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

    def select(self, timeout):
        if timeout is None:
            raise Deadlock
        if timeout > 0:
            self.clock = self._scheduled[0]._when
        return ()

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        pass


class Numbered:
    """A number as the hash, so that sets of futures have the order of the numbers."""

    def __hash__(self):
        return self.number


class Future(Numbered, asyncio.Future):
    def __init__(self, number, loop):
        self.number = number
        super().__init__(loop=loop)


class Task(Numbered, asyncio.Task):
    def __init__(self, number, coroutine, loop):
        self.number = number
        super().__init__(coroutine, loop=loop)


def name(number):
    return f"t{number}" if number >= FUTURES else f"f{number}"


class Run:
    def __init__(self, program):
        self.paced = program["paced"]
        self.programs = program["tasks"]
        self.loop = Loop()
        self.loop.set_exception_handler(lambda loop, context: None)
        self.queue = asyncio.Queue()
        self.futures = [Future(number, self.loop) for number in range(FUTURES)]
        self.futures += [None for _ in self.programs]
        self.callbacks = []
        self.forgotten = []
        self.log = []
        self.spawned = 0
        self.values = 0
        self.items = 0
        for _ in range(program["at_first"]):
            self.spawn_next()

    def say(self, actor, text):
        self.log.append(f"{self.loop.time()} {actor} {text}")

    def run(self):
        try:
            self.loop.run_forever()
        except Deadlock:
            pass
        for number, future in enumerate(self.futures):
            # Without the time: asyncio leaves the timer of a cancelled as_completed.
            self.log.append(f"{END} end {name(number)} {self.state(future)}")
        for task in asyncio.all_tasks(self.loop):
            task._log_destroy_pending = False
        return self.log

    def spawn_next(self):
        if self.spawned == len(self.programs):
            return
        number = FUTURES + self.spawned
        self.spawned += 1
        self.futures[number] = Task(number, self.task(number), self.loop)

    async def task(self, me):
        try:
            for pause, *op in self.programs[me - FUTURES]:
                if self.paced:
                    await asyncio.sleep(pause)
                await getattr(self, op[0])(me, *op[1:])
        except CancelledError:
            if self.is_cancelled(me):
                self.say(name(me), "cancelled")
            raise
        return me

    def is_cancelled(self, me):
        """True if it is this task that is cancelled, not what it awaits."""
        return self.futures[me].cancelling() > 0

    def state(self, future):
        if future is None:
            return "not spawned"
        return self.outcome_of(future) if future.done() else "pending"

    def outcome_of(self, future):
        if future.cancelled():
            return "cancelled"
        exception = future.exception()
        return self.told(future.result() if exception is None else exception)

    def told(self, outcome):
        if isinstance(outcome, CancelledError):
            return "cancelled"
        if isinstance(outcome, asyncio.TimeoutError):
            return "timed out"
        if isinstance(outcome, Raised):
            return f"raised {outcome}"
        if isinstance(outcome, RuntimeError):
            return "invalid"
        return str(outcome)

    async def awaited(self, me, awaitable):
        try:
            return self.told(await awaitable)
        except CancelledError as cancelled:
            if self.is_cancelled(me):
                raise
            return self.told(cancelled)
        except Exception as exception:
            return self.told(exception)

    async def outcome(self, me, what, awaitable):
        outcome = await self.awaited(me, awaitable)
        self.say(name(me), f"{what} {outcome}")

    def value(self):
        self.values += 1
        return self.values

    def several(self, of):
        futures = [self.futures[number] for number in of]
        return [future for future in futures if future is not None]

    async def sleep(self, me, duration):
        await asyncio.sleep(duration)
        self.say(name(me), "slept")

    async def await_(self, me, of):
        future = self.futures[of]
        if future is None:
            return
        # Known difference: cancelling a task cancels what it awaits.
        awaitable = asyncio.shield(future) if self.paced else future
        await self.outcome(me, "await", awaitable)

    async def shield(self, me, of):
        future = self.futures[of]
        if future is not None:
            await self.outcome(me, "shield", asyncio.shield(future))

    async def cancel_shield(self, me, of):
        future = self.futures[of]
        if future is None:
            return
        shield = asyncio.shield(future)
        cancelled = shield is not future and shield.cancel()
        self.say(name(me), f"cancel shield {str(cancelled).lower()}")

    async def wait_for(self, me, of, timeout):
        future = self.futures[of]
        if future is not None:
            await self.outcome(me, "wait_for", asyncio.wait_for(future, timeout))

    async def gather(self, me, of):
        await self.outcome(me, "gather", self.gathered(asyncio.gather(*self.several(of))))

    async def gather_outcomes(self, me, of):
        gather = asyncio.gather(*self.several(of), return_exceptions=True)
        await self.outcome(me, "gather_outcomes", self.gathered(gather))

    async def gathered(self, gather):
        return " ".join(map(self.told, await gather))

    async def forget_gather(self, me, of):
        """Calls gather, and does not await it."""
        gather = asyncio.gather(*self.several(of))
        gather.add_done_callback(lambda gather: self.gather_done(me, gather))
        self.forgotten.append(gather)

    def gather_done(self, me, gather):
        # Known difference: here it is not cancelled if one of its children is, but
        # has the exception CancelledError.
        if not isinstance(gather.exception(), CancelledError):
            self.say(f"gather-of-{name(me)}", f"gathered {gather.exception() is None}".lower())

    async def wait(self, me, of, when, timeout):
        futures = self.several(of)
        if not futures:
            return
        done, pending = await asyncio.wait(futures, return_when=when, timeout=timeout)
        names = [" ".join(name(f.number) for f in sorted(s, key=hash)) for s in (done, pending)]
        self.say(name(me), f"wait [{names[0]}] [{names[1]}]")

    async def as_completed(self, me, of, timeout):
        for future in asyncio.as_completed(self.several(of), timeout=timeout):
            outcome = await self.awaited(me, future)
            self.say(name(me), f"completed {outcome}")
            if outcome == "timed out":
                return

    def resolve(self, future, actor):
        try:
            future.set_result(self.value())
            self.say(actor, "set")
        except (InvalidStateError, RuntimeError):
            self.say(actor, "refused")

    async def set_result(self, me, of):
        future = self.futures[of]
        if future is not None:
            self.resolve(future, name(me))

    async def set_exception(self, me, of):
        try:
            self.futures[of].set_exception(Raised(self.value()))
            self.say(name(me), "set exception")
        except InvalidStateError:
            self.say(name(me), "refused")

    async def cancel(self, me, of):
        future = self.futures[of]
        if future is not None:
            self.say(name(me), f"cancel {name(of)} {str(future.cancel()).lower()}")

    async def end_all(self, me, ops):
        for op in ops:
            await getattr(self, op[0])(me, *op[1:])

    async def set_later(self, me, of, delay):
        self.loop.call_later(delay, self.resolve, self.futures[of], f"later-{name(me)}")

    async def add_callback(self, me, of, then, delay):
        future = self.futures[of]
        if future is None:
            return
        actor = f"callback-{len(self.callbacks)}"

        def callback(_):
            is_task = asyncio.current_task(self.loop) is not None
            self.say(actor, f"called, in a task: {str(is_task).lower()}")
            if self.paced:
                self.loop.call_later(delay, self.resolve, self.futures[then], actor)
            else:
                self.resolve(self.futures[then], actor)

        self.callbacks.append((of, callback))
        future.add_done_callback(callback)

    async def remove_callback(self, me):
        if self.callbacks:
            of, callback = self.callbacks[-1]
            removed = self.futures[of].remove_done_callback(callback)
            self.say(name(me), f"removed {removed}")

    async def spawn(self, me):
        self.spawn_next()

    async def put(self, me):
        self.queue.put_nowait(self.items)
        self.items += 1

    async def get(self, me):
        item = await self.queue.get()
        self.queue.task_done()
        self.say(name(me), f"got {item}")

    async def join(self, me):
        await self.queue.join()
        self.say(name(me), "joined")

    async def probe(self, me, of):
        is_current = asyncio.current_task() is self.futures[me]
        self.say(name(me), f"{name(of)} is {self.state(self.futures[of])}, {str(is_current).lower()}")

    async def raise_(self, me):
        raise Raised(self.value())


def main():
    # A pending task cannot end in order when its loop is gone.
    sys.unraisablehook = lambda _: None
    for number, line in enumerate(sys.stdin):
        print(f"== {number}", *Run(json.loads(line)).run(), sep="\n", flush=True)


main()
