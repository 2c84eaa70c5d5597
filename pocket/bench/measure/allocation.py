"""Kind `allocation`: a known number of bytes is taken and written, and measured by the probes that measure training."""

import time
from collections.abc import Mapping
from typing import Any

from pocket.bench.measure import resident
from pocket.bench.measure.progress import TRAINING, Progress
from pocket.bench.measure.trainers import Trainer


class AllocationRun:
    """What the probes say of an array of `allocation_bytes` whose every page was written."""

    def __init__(self, trainer: Trainer, settings: Mapping[str, Any], progress: Progress):
        self._trainer, self._settings, self._progress = trainer, settings, progress
        self._values: dict[str, Any] = {}
        self.done = 0
        self.score_seconds = 0.0
        self.train_seconds = 0.0

    def work(self) -> None:
        """Take the bytes, read both numbers."""
        started = time.perf_counter()
        try:
            self._measure()
        finally:
            self.train_seconds = time.perf_counter() - started

    def _measure(self) -> None:
        asked = int(self._settings["allocation_bytes"])
        self._values = {"asked_bytes": asked}
        with self._trainer.probe(self._settings) as probe:
            self._trainer.touch(1)  # brings the device's context and kernels, which are nobody's allocation
            probe.warm()
            resident.forget()
            before, before_on_device = resident.now(), self._trainer.device_used_bytes()
            self._progress.tell(TRAINING, 0)
            array = self._trainer.touch(asked)
            if before_on_device is None:
                process_bytes = (resident.highest() or resident.now()) - before
            else:
                process_bytes = (self._trainer.device_used_bytes() or 0) - before_on_device
            numbers = probe.numbers()
            del array
        self._values |= {"live_bytes": numbers["live_peak_bytes"], "process_bytes": max(0, process_bytes)}

    def values(self) -> dict[str, Any]:
        """`asked_bytes`, `live_bytes` and `process_bytes` of an allocation record."""
        return self._values
