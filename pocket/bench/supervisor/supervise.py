"""One run from outside: starts its workers, watches them, ends everything below, and always leaves a record.

Light on purpose: it imports neither NumPy nor a trainer. What it does at the start (hashing, loading the schema)
happens while the worker imports its library.
"""

import os
import secrets
import time
import traceback
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pocket.bench import record as records
from pocket.bench import source
from pocket.bench.machine import machine
from pocket.bench.measure import trainers
from pocket.bench.measure.shortage import Shortage
from pocket.bench.plan.identity import Run, sides
from pocket.bench.supervisor import below, compose, inputs, process
from pocket.bench.supervisor.conductor import Conductor
from pocket.bench.supervisor.ending import Ending, kernel_kills, of_worker
from pocket.bench.supervisor.guarded import guarded
from pocket.bench.supervisor.lock import DeviceLock
from pocket.bench.supervisor.watch import Signalled, Watch
from pocket.bench.supervisor.worker import COMMAND, Worker, environment


def supervise(
    run: Run, results: Path, *, command: Sequence[str] = COMMAND, since: float | None = None
) -> dict[str, Any]:
    """Do one run and write its record; returns the record. Whatever happens inside the run is a status of it.

    command: how a worker is started. since: `time.monotonic()` when this process began to work for the run, so that
    `seconds.total` holds all of it. Raises Mistake, before anything is started, when the results cannot be written or
    the run's inputs were not prepared. The record is not written when the Snakemake that asked for it has ended: nobody
    waits for it, and the next start does the run anew.
    """
    run_since = time.monotonic() if since is None else since
    records.check_writable(records.path_of(run.id, results))
    refused = next((why for side in sides(run.settings) if (why := trainers.unsupported(side))), None)
    if refused is None:
        inputs.check(run.settings, results)
    with Signalled().noting() as signalled:
        watch = Watch(sides(run.settings)[0]["time_limit_seconds"], signalled, process.ancestor("snakemake"))
        supervision = Supervision(run, Path(results), command, run_since, watch)
        if refused:
            return supervision.finish(Ending("unsupported", refused, None))
        try:
            return supervision.work()
        except Exception as problem:  # ours, or the system's, such as no process left to start a worker with
            reason = " ".join(f"{type(problem).__name__}: {problem}".split())
            return supervision.finish(Ending("error", f"the supervisor failed: {reason}", traceback.format_exc()))


class Supervision:
    """The state of one supervised run."""

    def __init__(self, run: Run, results: Path, command: Sequence[str], since: float, watch: Watch):
        self.run, self.results, self.command, self.since, self.watch = run, results, command, since, watch
        self.sides = dict(zip("ab", sides(run.settings), strict=False))
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self.token = secrets.token_hex(8)
        self.waited = 0.0
        self.blocks: list[dict[str, Any]] = []
        self.shortage: dict[str, Any] | None = None  # of a run that the kernel killed, which could not tell itself
        self.machine = machine.machine(self.sides["a"]["device"], self.sides["a"]["threads"], dict(os.environ))

    def work(self) -> dict[str, Any]:
        """Take the device, run, and write the record."""
        gpu = self.machine["gpu"]
        if self.run.settings["device"] == "cuda" and gpu is None:
            return self.finish(Ending("unsupported", f"no GPU: {self.machine['gpu_reason']}", None))
        lock = DeviceLock(gpu["uuid"] if gpu else "cpu")
        asked = time.monotonic()
        mine = lock.acquire(f"process {os.getpid()}, run {self.run.id}", lambda holder: not self.watch.called_off())
        self.waited = time.monotonic() - asked
        if not mine:
            status, reason = self.watch.called_off() or ("killed", "it gave up")
            return self.finish(Ending(status, f"{reason}, while it waited for the device", None))
        try:
            if gpu:
                self.machine["gpu"] = machine.used_now(gpu)  # while we waited, another run filled and emptied it
            return self._with_device(lock)
        finally:
            lock.release()

    def _with_device(self, lock: DeviceLock) -> dict[str, Any]:
        strangers, workers = process.children(), dict[str, Worker]()
        process.adopt_orphans()
        try:
            with guarded(self.token, lock) as guard:
                strangers.add(guard)
                try:
                    end = self._run(workers, strangers)
                finally:
                    below.end_all(workers.values(), self.token, strangers)
                    process.reap(strangers)
        finally:
            process.adopt_orphans(False)
        return self.finish(end, {name: worker.result for name, worker in workers.items()})

    def _run(self, workers: dict[str, Worker], strangers: set[int]) -> Ending:
        """Start the workers, wait for their end, and tell what it was."""
        kills = kernel_kills()
        self.watch.start()
        for name, side in self.sides.items():
            workers[name] = self._worker(side)
        interruption, first = self._until_over(workers)
        below.end_all(workers.values(), self.token, strangers)
        statuses = {name: worker.close() for name, worker in workers.items()}
        if interruption:
            return Ending(*interruption, None)
        culprit = workers[first]
        more = None if kills is None or (now := kernel_kills()) is None else now - kills
        end = of_worker(statuses[first], culprit.result, culprit.printed, culprit.updates, more)
        if end.status == "oom_host" and culprit.result is None and more:
            self.shortage = Shortage(None, None, "").values(culprit.updates)
        return end._replace(reason=f"side {first}: {end.reason}") if len(workers) > 1 and end.reason else end

    def _until_over(self, workers: dict[str, Worker]) -> tuple[tuple[str, str] | None, str]:
        """What interrupted the run, if anything, and the side that decides how it ended."""
        self._gather()
        heard = Conductor(workers, self.sides["a"], self.blocks).hear if len(workers) > 1 else _nothing
        interruption, first = self.watch.until_over(workers, heard)
        if interruption and not self.watch.workflow_ended:
            below.ask_to_end(workers.values())
        return interruption, first

    def _worker(self, settings: Mapping[str, Any]) -> Worker:
        description = {"run": self.run.id, "kind": settings["kind"], "settings": settings}
        if settings["kind"] != "allocation":
            description |= inputs.paths(settings, self.results)
        return Worker(description, environment(settings, self.token, os.environ), self.command)

    def _gather(self) -> None:
        """What the record needs and no worker knows; while the workers import, nobody waits for it."""
        self.code = source.digest(self.run.settings)
        self.inputs = inputs.described(self.run.settings, self.results)
        for note in (self.inputs["data"] or {}).get("notes", []):
            print(f"{self.run.id}: {note}", flush=True)
        records.load_schema()

    def finish(self, end: Ending, told: compose.Results | None = None) -> dict[str, Any]:
        """The sealed record, written."""
        told = {} if told is None else told
        if not told:
            self._gather()
        machine_found = self.machine
        body = {
            "run": self.run.id,
            "kind": self.run.settings["kind"],
            "settings": dict(self.run.settings),
            **end._asdict(),
            "started": self.started,
            **self.inputs,
            "device": compose.device(self.run.settings["device"], machine_found),
            "machine": compose.whole_machine(machine_found, told),
            "code": self.code,
            "values": self._values(told),
        }
        total = time.monotonic() - self.since - self.waited
        sealed = records.seal({**body, "seconds": compose.seconds(told, total, self.waited)})
        if not self.watch.workflow_ended:
            records.write(sealed, records.path_of(self.run.id, self.results))
        return sealed

    def _values(self, told: compose.Results) -> dict[str, Any]:
        kind, gpu = self.run.settings["kind"], self.machine["gpu"]
        found = compose.values(kind, told, self.blocks, self.watch.peak_bytes, gpu)
        return found | ({"shortage": self.shortage} if self.shortage else {})


def _nothing(name: str, message: Mapping[str, Any]) -> None:
    """Only the sides of a pair have something to say before their result."""
