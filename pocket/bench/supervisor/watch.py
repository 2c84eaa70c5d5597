"""Sees to running workers: hears them, samples their memory, and notices what ends a run from outside."""

import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from pocket.bench.measure import resident
from pocket.bench.measure.progress import TRAINING
from pocket.bench.supervisor import process
from pocket.bench.supervisor.worker import Worker

Heard = Callable[[str, dict[str, Any]], None]
TICK_SECONDS = 0.02
LOOK_AROUND_SECONDS = 0.5
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Signalled:
    """Notes the first signal that asks this process to end, instead of ending. Only the main thread can."""

    def __init__(self) -> None:
        self.name: str | None = None

    @contextmanager
    def noting(self) -> Iterator["Signalled"]:
        before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            wanted = [
                number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN
            ]  # nohup ignores one
            before = {number: signal.signal(number, self._note) for number in wanted}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.name = self.name or signal.Signals(number).name


class Watch:
    """Stands beside the workers of a run until they are done or something ends the run from outside."""

    def __init__(self, time_limit_seconds: float, signalled: Signalled, workflow: process.Identity | None):
        self.time_limit_seconds, self.signalled, self.workflow = time_limit_seconds, signalled, workflow
        self.peak_bytes = 0  # resident, of a worker and all below it, after warm-up
        self._end = float("inf")
        self._looked_around = 0.0
        self._trees: dict[int, set[int]] = {}

    def start(self) -> None:
        """The time limit counts from here."""
        self._end = time.monotonic() + self.time_limit_seconds

    @property
    def workflow_ended(self) -> bool:
        """Whether the Snakemake that started us is gone."""
        return self.workflow is not None and not process.lives(self.workflow)

    def called_off(self) -> tuple[str, str] | None:
        """(status, reason) of what ends the run from outside, or None."""
        if self.signalled.name:
            return "killed", f"the supervisor received {self.signalled.name}"
        if time.monotonic() > self._end:
            return "timeout", f"it took longer than time_limit_seconds: {self.time_limit_seconds:g}"
        if time.monotonic() - self._looked_around > LOOK_AROUND_SECONDS:
            self._looked_around = time.monotonic()
            self._trees.clear()
            if self.workflow_ended:
                return "killed", f"the Snakemake that started it (process {self.workflow[0]}) has ended"  # type: ignore[index]
        return None

    def until_over(self, workers: Mapping[str, Worker], heard: Heard) -> tuple[tuple[str, str] | None, str]:
        """Wait until every worker has given its result, or one has failed, or the run is called off.

        Returns what called it off, if anything, and the name of the worker that decides how it ended. `heard` is given
        each message as it comes.
        """
        while True:
            over = {name: worker.status is not None for name, worker in workers.items()}  # asked before the last words
            for name, worker in workers.items():
                for message in worker.hear():
                    heard(name, message)
            for name, worker in workers.items():
                if (over[name] and worker.result is None) or (worker.result or {}).get("status", "ok") != "ok":
                    return None, name
            if all(worker.result is not None for worker in workers.values()):
                return None, next(iter(workers))
            found = self.called_off()
            if found:
                return found, next(iter(workers))
            self._sample(workers)
            select.select([number for w in workers.values() for number in w.file_numbers], [], [], TICK_SECONDS)

    def _sample(self, workers: Mapping[str, Worker]) -> None:
        for worker in workers.values():
            phase, _ = worker.progress.read()
            if phase != TRAINING:
                continue
            if worker.pid not in self._trees:
                self._trees[worker.pid] = process.descendants(worker.pid) | {worker.pid}
            self.peak_bytes = max(self.peak_bytes, sum(map(resident.now, self._trees[worker.pid])))
