"""Runs programs, a Python list in each line of stdin, on the asyncio of CPython, and writes
the log of each after a line "==". What a program means is said in program.rs; scopes.rs
runs the same programs.
"""

import asyncio
import sys


class Deadlock(Exception):
    pass


class Loop(asyncio.BaseEventLoop):
    """A loop without sockets, whose clock counts nanoseconds and jumps."""

    def __init__(self):
        super().__init__()
        self.clock = 0
        self._selector = self
        self._clock_resolution = 0.5

    def time(self):
        return self.clock

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


class Raised(Exception):
    pass


def told(exception):
    if isinstance(exception, BaseExceptionGroup):
        return f"({', '.join(sorted(map(told, exception.exceptions)))})"
    return "timed out" if isinstance(exception, TimeoutError) else str(exception)


class Actor:
    def __init__(self, loop, log, path):
        self.loop, self.log, self.path = loop, log, path
        self.children = []
        self.num_created = 0
        self.last_group = None

    def say(self, text):
        self.log.append((self.loop.time(), self.path, text))

    async def steps(self, steps, group, deadline):
        for pause, (name, *arguments) in steps:
            await asyncio.sleep(pause)
            await getattr(self, name)(group, deadline, *arguments)

    async def child(self, steps, group):
        try:
            await self.steps(steps, group, None)
        except asyncio.CancelledError:
            self.say("cancelled")
            raise

    async def scope(self, what, catches, scope):
        try:
            await scope
            self.say(f"{what}: done")
        except Exception as exception:
            self.say(f"{what}: {told(exception)}")
            if not catches:
                raise

    async def Say(self, group, deadline):
        self.say("slept")

    async def Raise(self, group, deadline):
        raise Raised(f"error of {self.path}")

    async def Children(self, group, deadline, count, steps):
        if group is None:
            return
        for _ in range(count):
            self.num_created += 1
            child = Actor(self.loop, self.log, f"{self.path}.{self.num_created}")
            self.children.append(group.create_task(child.child(steps, group)))

    async def Cancel(self, group, deadline):
        if self.children:
            self.say(f"cancel: {str(self.children.pop().cancel()).lower()}")

    async def Group(self, group, deadline, catches, steps):
        async def run():
            async with asyncio.TaskGroup() as group:
                self.last_group = group
                await self.steps(steps, group, deadline)

        await self.scope("group", catches, run())

    async def Timeout(self, group, deadline, ns, catches, steps):
        async def run():
            async with asyncio.timeout(ns) as deadline:
                await self.steps(steps, group, deadline)

        await self.scope("timeout", catches, run())

    async def Reschedule(self, group, deadline, ns):
        if deadline is not None:
            deadline.reschedule(None if ns is None else self.loop.time() + ns)

    async def Late(self, group, deadline):
        async def nothing():
            pass

        if self.last_group is not None:
            # A group that refuses a coroutine closes it only since 3.13.
            late = nothing()
            try:
                self.last_group.create_task(late)
                self.say("late: true")
            except RuntimeError:
                late.close()
                self.say("late: false")


def named(name):
    return lambda *arguments: (name, *arguments)


NAMES = {name: named(name) for name in ("Children", "Group", "Timeout", "Reschedule")}
NAMES |= {name: (name,) for name in ("Say", "Raise", "Cancel", "Late")}
NAMES |= {"Step": lambda *step: step, "Some": lambda it: it, "true": True, "false": False}


def main():
    for line in sys.stdin:
        loop, log = Loop(), []
        actor = Actor(loop, log, "main")
        steps = actor.steps(eval(line, NAMES), None, None)
        loop.run_until_complete(actor.scope("main", True, steps))
        print("==")
        for time, path, text in sorted(log, key=lambda event: event[:2]):
            print(time, path, text)


main()
