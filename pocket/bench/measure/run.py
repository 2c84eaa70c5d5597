"""The worker: `python -m pocket.bench.measure.run` does one run, or one side of a pair, and reports to its supervisor.

On standard input comes one line of JSON, the description: `kind`, `settings` (complete), `data`, `weights` (paths),
`parent` (the supervisor's process), `report` and `progress` (file numbers); for a pair a line follows for each turn.
On `report` go lines of JSON, the last `{"result": …}`: `status`, `reason`, `detail`, `values`, `seconds`, `machine`.
"""

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pocket.bench.measure import trainers
from pocket.bench.measure.progress import Progress
from pocket.bench.measure.shortage import told
from pocket.bench.measure.strict import strict
from pocket.bench.measure.unsupported import Unsupported
from pocket.bench.supervisor import allocator, process
from pocket.mistake import Mistake

DETAIL_CHARACTERS = 4000
UNDESCRIBED = ("stopped", "unsupported")  # no time left to look at the libraries, or none loaded


class Stopped(BaseException):
    """The supervisor asks for what there is so far."""


class Report:
    """Lines of JSON to the supervisor."""

    def __init__(self, file_number: int):
        self._file = os.fdopen(file_number, "wb")

    def tell(self, message: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(strict(message), allow_nan=False).encode("ascii") + b"\n")
        self._file.flush()


class Side:
    """One run in this process, from the description to the result. What was reached is kept when it ends early."""

    def __init__(self, description: Mapping[str, Any], report: Report, turns: Iterator[int]):
        self.description, self.report, self.turns = description, report, turns
        self.settings: Mapping[str, Any] = description["settings"]
        self.trainer = trainers.get(self.settings["trainer"])
        self.malloc = allocator.effect(self.settings["malloc"])  # now: later, what was freed answers in its place
        self.loaded = False  # the trainer's library: until then the trainer knows nothing
        self.run: Any = None
        self.seconds: dict[str, float] = {}

    def work(self) -> None:
        """Import, prepare, train. Raises whatever goes wrong."""
        self._timed("import", lambda: self.trainer.prepare(self.settings))
        self.loaded = True
        self._timed("prepare", self._prepare)
        self.run.work()

    def _prepare(self) -> None:
        progress = Progress(self.description["progress"])
        if self.description["kind"] == "allocation":
            from pocket.bench.measure.allocation import AllocationRun

            self.run = AllocationRun(self.trainer, self.settings, progress)
            return
        from pocket.bench.measure import live, setup, timed, turns  # NumPy stands behind these

        ready = setup.prepare(self.settings, Path(self.description["data"]), Path(self.description["weights"]))
        kinds = {"train": timed.TimedRun, "memory": live.MemoryRun}
        if self.description["kind"] == "pair":
            self.run = turns.TurnRun(self.trainer, ready, progress, self.turns, self.report.tell)
        else:
            self.run = kinds[self.description["kind"]](self.trainer, ready, progress)

    def _timed(self, name: str, work: Any) -> None:
        started = time.perf_counter()
        try:
            work()
        finally:
            self.seconds[name] = time.perf_counter() - started

    def result(self, status: str, reason: str | None, detail: str | None = None, **values: Any) -> dict[str, Any]:
        """The last message."""
        if self.run is not None:
            self.seconds |= {"train": self.run.train_seconds, "score": self.run.score_seconds}
            values = self.run.values() | values
        return {
            "status": status,
            "reason": reason,
            "detail": detail,
            "values": values,
            "seconds": self.seconds,
            "machine": {} if status in UNDESCRIBED or not self.loaded else self._machine(),
        }

    def _machine(self) -> dict[str, Any]:
        from pocket.bench.machine.blas import blas

        return {**blas(), **self.malloc, **self.trainer.versions()}


def outcome(side: Side) -> dict[str, Any]:
    """Work, and turn whatever happens into a result with a status of the record."""
    done = lambda: side.run.done if side.run is not None else 0  # noqa: E731
    try:
        side.work()
        return side.result("ok", None)
    except Stopped:
        return side.result("stopped", f"stopped at update {done()}")
    except Unsupported as problem:
        return side.result("unsupported", str(problem))
    except Mistake as problem:
        return side.result("error", str(problem))
    except Exception as problem:
        live_bytes = side.trainer.live_bytes() if side.loaded else None
        shortage = told(problem, live_bytes, side.settings["device"])
        if shortage is not None:
            values = {"shortage": shortage.values(done())}
            return side.result(shortage.status, shortage.reason(done()), _tail(problem), **values)
        if type(problem).__name__ == "Diverged":
            return side.result("diverged", str(problem))
        return side.result("error", _line(problem), _tail(problem))


def _line(problem: Exception) -> str:
    text = f"{type(problem).__name__}: {problem}".strip().splitlines()
    return text[0][:300]


def _tail(problem: Exception) -> str:
    return "".join(traceback.format_exception(problem))[-DETAIL_CHARACTERS:]


def _stop(number: int, frame: Any) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise Stopped


def main() -> None:
    description = json.loads(sys.stdin.readline())
    process.die_with_parent(description["parent"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    report = Report(description["report"])
    side = Side(description, report, (int(line) for line in sys.stdin))
    signal.signal(signal.SIGTERM, _stop)
    result = outcome(side)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    report.tell({"result": result})
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # nothing is left to do, and unloading a large library takes half a second


if __name__ == "__main__":
    main()
