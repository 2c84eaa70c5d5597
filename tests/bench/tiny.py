"""A trainer small enough for tests, that can also do everything wrong; run as a program it is a worker that knows it.

`model` says what it does: steady, diverges, raises, hangs, hoards, dies, spawns. It follows `pocket.contract`.
"""

import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pocket.bench.measure import run, trainers
from pocket.bench.measure.probe_pool import PoolProbe
from pocket.bench.plan.identity import Run, data_id, sides, weights_id
from pocket.bench.supervisor.supervise import supervise
from pocket.contract import BatchReady, Epoch, Job, Step, Transferred
from pocket.data import prepare

COMMAND = (sys.executable, str(Path(__file__)))
ROOT = Path(__file__).parents[2]
NOTE = "POCKET_TEST_NOTE"  # a file to which a spawned process writes its number


class TinyTrainer:
    """Fits y = x w by gradient descent, in NumPy."""

    synchronise = None

    def prepare(self, settings: Mapping) -> None:
        self.model = settings["model"]

    def start(self, job: Job):
        return train(job)

    def account(self) -> dict:
        return {"live_peak_bytes": None, "live_peak_bytes_reason": "tiny", "reserved_peak_bytes": 0}

    def forget(self) -> None:
        """It keeps no peak."""

    def live_bytes(self) -> int:
        return 1000

    def device_used_bytes(self) -> None:
        """It knows no GPU."""

    def probe(self, settings: Mapping) -> PoolProbe:
        return PoolProbe(lambda: None)

    def touch(self, size_bytes: int) -> np.ndarray:
        return np.ones(size_bytes, np.uint8)

    def versions(self) -> dict:
        return {"tiny": "1"}


def train(job: Job):
    """The events of a run; where `model` is no known fault it is a sound one."""
    settings, w = job.settings, np.zeros(job.input_shape[0])
    left = settings["max_updates"] or settings["epochs"] * job.updates_per_epoch
    done = 0
    for epoch in range(settings["epochs"]):
        for batch in job.batches(epoch):
            yield BatchReady()
            x, y = batch.x.astype(np.float64), batch.y[:, 0]
            yield Transferred()
            misbehave(settings["model"], done)
            error = x @ w - y
            w = w - 1e-3 * x.T @ error / len(x)
            yield Step(np.inf if settings["model"] == "diverges" and done == 4 else np.mean(error**2), len(x))
            done += 1
            if done == left:
                break
        yield Epoch(epoch, functools.partial(predict, w))
        if done == left:
            return


def predict(w: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (x.astype(np.float64) @ w)[:, None]


def misbehave(model: str, done: int) -> None:
    if done != 4:
        return
    if model == "raises":
        raise RuntimeError("the wheel came off\nand rolled away")
    if model == "hangs":
        time.sleep(600)
    if model == "hoards":
        np.empty(1 << 60, np.uint8)
    if model == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if model == "spawns":
        spawn_daemon()
        time.sleep(600)


def spawn_daemon() -> None:
    """A grandchild in a session of its own, orphaned, deaf to SIGTERM; it notes its number once it is all that."""
    note = os.environ[NOTE]
    code = (
        "import os, signal, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)\n"
        f"open({note + '.part'!r}, 'w').write(str(os.getpid()))\n"
        f"os.rename({note + '.part'!r}, {note!r})\n"
        "time.sleep(600)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def a_run(**settings) -> Run:
    """A run of the tiny trainer: 100 rows, batches of 30, 30, 30 and 10."""
    base = {
        "kind": "train",
        "trainer": "tiny",
        "device": "cpu",
        "model": "steady",
        "dataset": "tabular",
        "train_samples": 100,
        "test_samples": 50,
        "batch_size": 30,
        "epochs": 2,
        "threads": 1,
        "time_limit_seconds": 60,
    }
    return Run("tiny", base | settings)


def prepared(results: Path, run: Run) -> Path:
    """`results` with what the run reads."""
    for side in sides(run.settings):
        folder = results / "data" / data_id(side)
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            prepare(side["dataset"], side["resolution"], side["train_samples"], side["test_samples"], folder)
        path = results / "weights" / f"{weights_id(side)}.npz"
        path.parent.mkdir(exist_ok=True)
        np.savez(path)
    return results


def supervised(results: Path, **settings) -> dict:
    """The record of one such run."""
    run = a_run(**settings)
    return supervise(run, prepared(results, run), command=COMMAND)


def main() -> None:
    """`python tiny.py` is a worker, `python tiny.py SETTINGS RESULTS` a supervisor of one run."""
    if len(sys.argv) == 1:
        trainers.TRAINERS["tiny"] = TinyTrainer
        run.main()
    else:
        supervise(a_run(**json.loads(sys.argv[1])), Path(sys.argv[2]), command=COMMAND)


if __name__ == "__main__":
    main()
