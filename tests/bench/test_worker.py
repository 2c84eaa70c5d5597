"""Inside a worker's process: what it finds out before it trains, and what it says when that goes wrong."""

import io
import sys

import numpy as np
import pytest
import tiny

from pocket.bench.measure import run, trainers
from pocket.bench.measure.allocation import AllocationRun
from pocket.bench.measure.progress import Progress, new_page
from pocket.bench.measure.run import Side, outcome
from pocket.bench.plan.identity import sides


def a_side(**settings):
    whole = sides(tiny.a_run(**settings).settings)[0]
    return Side({"kind": whole["kind"], "settings": whole}, io.BytesIO(), iter(()))


@pytest.mark.parametrize(
    ("trainer", "library"), [("torch", "pocket.bench.measure.probe_torch"), ("engine", "pocket.engine.train")]
)
def test_a_library_that_is_missing_is_named(trainer, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    found = outcome(a_side(trainer=trainer))
    assert found["status"] == "error"
    assert found["reason"].startswith("ModuleNotFoundError")
    assert library in found["reason"]
    assert found["machine"] == {}


def test_the_allocator_is_asked_before_anything_large_was_freed(monkeypatch):
    order = []
    monkeypatch.setitem(trainers.TRAINERS, "tiny", tiny.TinyTrainer)
    monkeypatch.setattr(run.allocator, "effect", lambda malloc: order.append(malloc) or {"malloc_raised": True})
    monkeypatch.setattr(tiny.TinyTrainer, "prepare", lambda self, settings: order.append("import"))
    side = a_side()
    side._timed("import", lambda: side.trainer.prepare(side.settings))
    assert order == ["default", "import"]
    side.loaded = True
    assert side.result("ok", None)["machine"]["malloc_raised"] is True
    assert order == ["default", "import"]


class OnDevice(tiny.TinyTrainer):
    """A trainer whose arrays lie on a GPU of which something else holds 1,000 bytes; a context takes 500."""

    def __init__(self):
        self.held = 1000
        self.context = 500

    def device_used_bytes(self):
        return self.held

    def touch(self, size_bytes):
        self.held += self.context + (size_bytes if size_bytes > 1 else 0)
        self.context = 0
        return np.zeros(1)


def test_a_known_allocation_on_a_gpu_is_seen_on_the_gpu():
    measured = AllocationRun(OnDevice(), {"allocation_bytes": 1 << 20}, Progress(new_page()))
    measured.work()
    assert measured.values()["process_bytes"] == 1 << 20
