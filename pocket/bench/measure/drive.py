"""Takes a trainer from event to event and says what each update took. The clock stands still in between."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pocket.bench.measure.stopwatch import Stopwatch
from pocket.contract import BatchReady, Epoch, MicroBatch, Step, Transferred


class Update(NamedTuple):
    """One optimizer update. data: the loader at work; transfer: host to device; compute: all the rest of it."""

    loss: float
    samples: int
    data_seconds: float
    transfer_seconds: float
    compute_seconds: float

    @property
    def seconds(self) -> float:
        return self.data_seconds + self.transfer_seconds + self.compute_seconds


class TimedBatches:
    """The batches of a job, with the seconds that the loader itself takes counted."""

    def __init__(self, batches: Callable[[int], Iterator[MicroBatch]]):
        self._batches = batches
        self._seconds = 0.0

    def __call__(self, epoch: int) -> Iterator[MicroBatch]:
        iterator = self._timed(iter, self._batches(epoch))
        while True:
            batch = self._timed(next, iterator, None)
            if batch is None:
                return
            yield batch

    def _timed(self, call: Callable[..., Any], *arguments: Any) -> Any:
        before = time.perf_counter()
        try:
            return call(*arguments)
        finally:
            self._seconds += time.perf_counter() - before

    def take(self) -> float:
        """Seconds in the loader since this was last asked."""
        seconds, self._seconds = self._seconds, 0.0
        return seconds


@dataclass
class Parts:
    """The seconds of the update under way."""

    data: float = 0.0
    transfer: float = 0.0
    compute: float = 0.0

    def loaded(self, elapsed: float, loading: float) -> None:
        self.data += loading
        self.compute += max(0.0, elapsed - loading)


def updates(
    events: Any,
    stopwatch: Stopwatch,
    batches: TimedBatches,
    score: Callable[[Epoch], Mapping[str, Any] | None],
) -> Iterator[Update]:
    """Yields each update of the trainer's generator `events`; at each Epoch calls `score` and hands back its answer.

    The time up to the first batch builds the model: it belongs to no update. Neither does what passes while the caller
    holds an update, and while it scores.
    """
    parts, answer, built = Parts(), None, False
    stopwatch.start()
    while True:
        try:
            event = events.send(answer)
        except StopIteration:
            return
        answer = None
        if isinstance(event, BatchReady):
            elapsed, loading = stopwatch.lap(), batches.take()
            parts.loaded(elapsed if built else loading, loading)
            built = True
        elif isinstance(event, Transferred):
            parts.transfer += stopwatch.lap()
        elif isinstance(event, Step):
            parts.compute += stopwatch.lap()
            yield Update(float(event.loss), event.samples, parts.data, parts.transfer, parts.compute)
            parts = Parts()
            stopwatch.start()
        elif isinstance(event, Epoch):
            answer = score(event)
            batches.take()
            stopwatch.start()
        else:
            raise TypeError(f"the trainer yielded {event!r}; wanted an event of pocket.contract")
