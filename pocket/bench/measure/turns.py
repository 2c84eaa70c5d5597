"""Kind `pair`, in a worker: one side of it, which updates when it is told to."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from pocket.bench.measure.drive import TimedBatches, Update, updates
from pocket.bench.measure.progress import TRAINING, Progress
from pocket.bench.measure.setup import Setup
from pocket.bench.measure.stopwatch import Stopwatch
from pocket.bench.measure.timed import check_finite
from pocket.bench.measure.trainers import Trainer


class TurnRun:
    """One side of a pair, in its worker: does as many updates as it is told, tells their seconds, and waits."""

    def __init__(
        self,
        trainer: Trainer,
        setup: Setup,
        progress: Progress,
        turns: Iterator[int],
        tell: Callable[[dict[str, Any]], None],
    ):
        self._trainer, self._setup, self._progress, self._turns, self._tell = trainer, setup, progress, turns, tell
        self.done = 0
        self.score_seconds = 0.0
        self.train_seconds = 0.0

    def work(self) -> None:
        """Take turns until there are no more. Raises Diverged."""
        settings = self._setup.settings
        needed = int(settings["warmup_updates"]) + int(settings["blocks"]) * int(settings["updates_per_block"])
        batches = TimedBatches(self._setup.batches)
        events = self._trainer.start(self._setup.job(lambda _: batches, needed))
        stream = updates(events, Stopwatch(self._trainer.synchronise), batches, lambda event: None)
        self._tell({"ready": True})
        for count in self._turns:
            started = time.perf_counter()
            seconds = [self._step(stream) for _ in range(count)]
            self.train_seconds += time.perf_counter() - started
            self._tell({"turn": seconds})

    def _step(self, stream: Iterator[Update]) -> float:
        update = next(stream)
        check_finite(update, self.done)
        self.done += 1
        self._progress.tell(TRAINING, self.done)
        return update.seconds

    def values(self) -> dict[str, Any]:
        """Nothing: the supervisor keeps the blocks of both sides."""
        return {}
