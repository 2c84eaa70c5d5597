"""The one clock of a run. It cannot be made without saying how the device is brought to rest."""

import time
from collections.abc import Callable


class Stopwatch:
    """Seconds by the monotonic clock, each reading taken when the device has done all that was queued.

    `synchronise` returns when it has; None states that the device works synchronously, as a CPU does.
    """

    def __init__(self, synchronise: Callable[[], object] | None):
        self._synchronise = synchronise
        self._since = time.perf_counter()

    def start(self) -> None:
        """Begin to count here; what passed before is nobody's."""
        self.lap()

    def lap(self) -> float:
        """Seconds since the last start or lap."""
        if self._synchronise is not None:
            self._synchronise()
        before, self._since = self._since, time.perf_counter()
        return self._since - before
