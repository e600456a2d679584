"""An asyncio queue where no getter is overtaken."""

import asyncio


# ANCHOR: fair
class FairQueue(asyncio.Queue):
    """A queue that promises each item to the getter that it wakes."""

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
                    # It was woken, so its item is promised to the next one.
                    self.promised -= 1
                    self._wakeup_next(self._getters)
                raise
            self.promised -= 1
        return self.get_nowait()

    def _wakeup_next(self, waiters):
        if waiters is self._getters:
            if self.qsize() == self.promised:
                return
            if any(not getter.done() for getter in waiters):
                self.promised += 1
        super()._wakeup_next(waiters)


# ANCHOR_END: fair
