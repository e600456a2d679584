"""A queue of asyncio in which nobody is overtaken."""

import asyncio


class FairQueue(asyncio.Queue):
    """A queue that promises an item to the getter that it wakes. In `asyncio.Queue` a getter
    that comes late may take that item, and the one that was woken waits again, behind all
    others."""

    promised = 0

    async def get(self):
        if self.qsize() == self.promised:
            getter = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except asyncio.CancelledError:
                if getter in self._getters:
                    self._getters.remove(getter)
                elif not getter.cancelled():
                    # It was woken: what it was promised is for the next one.
                    self.promised -= 1
                    self._wakeup_next(self._getters)
                raise
            self.promised -= 1
        return self.get_nowait()

    def _wakeup_next(self, waiters):
        if waiters is self._getters and self.qsize() > self.promised:
            woken = next((getter for getter in waiters if not getter.done()), None)
            super()._wakeup_next(waiters)
            self.promised += woken is not None
