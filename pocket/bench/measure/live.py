"""Kind `memory`: a few untimed updates under a probe of live bytes."""

import time
from typing import Any

from pocket.bench.measure import resident
from pocket.bench.measure.aside import aside
from pocket.bench.measure.drive import TimedBatches, updates
from pocket.bench.measure.progress import TRAINING, WARMING, Progress
from pocket.bench.measure.setup import Setup
from pocket.bench.measure.stopwatch import Stopwatch
from pocket.bench.measure.timed import check_finite
from pocket.bench.measure.trainers import LiveProbe, Trainer

MEASURED = 3  # updates after warm-up: the last one gives the timeline
MOST_POINTS = 2000


class MemoryRun:
    """Warm-up, then the peak of live bytes over `MEASURED` updates. Nothing of it is timed or scored."""

    def __init__(self, trainer: Trainer, setup: Setup, progress: Progress):
        self._trainer, self._setup, self._progress = trainer, setup, progress
        self._peak = resident.ResidentPeak()
        self._before = resident.now()
        self._numbers: dict[str, Any] = {}
        self.done = 0
        self.score_seconds = 0.0
        self.train_seconds = 0.0

    def work(self) -> None:
        """Train under the probe. Raises Diverged, and what a shortage of memory raises."""
        started = time.perf_counter()
        try:
            with self._trainer.probe(self._setup.settings) as probe:
                self._measure(probe)
        finally:
            self.train_seconds = time.perf_counter() - started

    def _measure(self, probe: LiveProbe) -> None:
        warmup = max(1, int(self._setup.settings["warmup_updates"]))
        last = warmup + MEASURED
        batches = TimedBatches(aside(self._setup.batches))
        self._progress.tell(WARMING, 0)
        events = self._trainer.start(self._setup.job(lambda _: batches, last))
        for update in updates(events, Stopwatch(self._trainer.synchronise), batches, lambda event: None):
            check_finite(update, self.done)
            self.done += 1
            if self.done == warmup:
                probe.warm()
                self._peak.begin()
            if self.done == last - 1:
                probe.watch()
            self._progress.tell(TRAINING if self.done >= warmup else WARMING, self.done)
            if self.done == last:
                break  # what follows is the scoring, which is no part of training
        self._peak.end()
        self._numbers = probe.numbers()

    def values(self) -> dict[str, Any]:
        """`memory` of a memory record; empty when no number was reached."""
        if not self._numbers:
            return {}
        memory = {**self._numbers, "process_before_bytes": self._before, "process_peak_bytes": self._peak.peak_bytes}
        memory["timeline"] = thinned(memory["timeline"])
        return {"memory": memory}


def thinned(points: list[list[float]], most: int = MOST_POINTS) -> list[list[float]]:
    """At most about `most` of the points: of each equal stretch its lowest and its highest, in order. Peaks stay."""
    if len(points) <= most:
        return points
    size = -(-2 * len(points) // most)
    kept: list[list[float]] = []
    for start in range(0, len(points), size):
        stretch = range(start, min(start + size, len(points)))
        ends = {min(stretch, key=lambda i: points[i][1]), max(stretch, key=lambda i: points[i][1])}
        kept += [points[i] for i in sorted(ends)]
    return kept
