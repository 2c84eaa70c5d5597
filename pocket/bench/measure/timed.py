"""Kind `train`: every update timed, every epoch scored, the peaks of memory after warm-up."""

import math
import time
from typing import Any

from pocket.bench.measure import resident
from pocket.bench.measure.drive import TimedBatches, Update, updates
from pocket.bench.measure.progress import SCORING, TRAINING, WARMING, Progress
from pocket.bench.measure.setup import Setup
from pocket.bench.measure.stopwatch import Stopwatch
from pocket.bench.measure.trainers import Trainer
from pocket.contract import Epoch


class Diverged(ArithmeticError):
    """The loss is no number any more. The message is one line that says at which update."""


def check_finite(update: Update, number: int) -> None:
    """Raise Diverged when the loss of update `number` (from 0) is nan or inf."""
    if not math.isfinite(update.loss):
        raise Diverged(f"the loss was {update.loss} at update {number}")


class TimedRun:
    """One training run. `values()` may be asked at any time: it tells what there is so far."""

    def __init__(self, trainer: Trainer, setup: Setup, progress: Progress):
        self._trainer, self._setup, self._progress = trainer, setup, progress
        self._warmup = min(int(setup.settings["warmup_updates"]), setup.updates)
        self._updates: list[Update] = []
        self._epochs: list[dict[str, Any]] = []
        self._peak = resident.ResidentPeak()
        self._before = resident.now()
        self._account: dict[str, Any] = {}
        self._warm = False
        self.score_seconds = 0.0
        self.train_seconds = 0.0

    @property
    def done(self) -> int:
        return len(self._updates)

    def work(self) -> None:
        """Train to the end. Raises Diverged."""
        started = time.perf_counter()
        batches = TimedBatches(self._setup.batches)
        events = self._trainer.start(self._setup.job(lambda _: batches))
        watch = Stopwatch(self._trainer.synchronise)
        self._progress.tell(WARMING, 0)
        if self._warmup == 0:
            self._begin()
        try:
            for update in updates(events, watch, batches, self._scored):
                self._updates.append(update)
                check_finite(update, self.done - 1)
                if self.done == self._warmup:
                    self._begin()
                self._progress.tell(TRAINING if self._warm else WARMING, self.done)
            self._end()
        finally:
            self.train_seconds = time.perf_counter() - started - self.score_seconds

    def _begin(self) -> None:
        self._warm = True
        self._trainer.forget()
        self._peak.begin()
        self._progress.tell(TRAINING, self.done)

    def _end(self) -> None:
        self._peak.end()
        fresh = self._trainer.account()
        for name, number in fresh.items():
            old = self._account.get(name)
            self._account[name] = max(old, number) if isinstance(old, int) and isinstance(number, int) else number

    def _scored(self, event: Epoch) -> dict[str, Any]:
        started = time.perf_counter()
        self._end()
        self._progress.tell(SCORING, self.done)
        grade = self._setup.score(event)
        self._epochs.append({"number": event.number, "updates": self.done, **grade})
        if self._warm:
            self._begin()
        else:
            self._progress.tell(WARMING, self.done)
        self.score_seconds += time.perf_counter() - started
        return grade

    def values(self) -> dict[str, Any]:
        """`updates`, `epochs` and `memory` of a train record."""
        memory: dict[str, Any] = {"process_peak_bytes": self._peak.peak_bytes, "process_before_bytes": self._before}
        if not self._account:
            for name in ("live_peak_bytes", "reserved_peak_bytes"):
                memory |= {name: None, f"{name}_reason": "the run ended before it was read"}
            memory |= {"device_used_bytes": self._trainer.device_used_bytes()}
        return {"updates": self._columns(), "epochs": self._epochs, "memory": memory | self._account}

    def _columns(self) -> dict[str, Any]:
        names = ("loss", "samples", "data_seconds", "transfer_seconds", "compute_seconds")
        columns: dict[str, Any] = {name: [getattr(update, name) for update in self._updates] for name in names}
        return columns | {"warmup": self._warmup}
