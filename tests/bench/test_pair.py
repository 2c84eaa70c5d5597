"""Two trainers in turns: order, counts, and that only one of them works at a time."""

import os
import sys
from itertools import islice

import pytest
import tiny

from pocket.bench.supervisor import process
from pocket.bench.supervisor.conductor import schedule
from pocket.bench.supervisor.supervise import supervise

SETTINGS = {"kind": "pair", "opponent": {}, "blocks": 4, "updates_per_block": 3, "warmup_updates": 2}


def test_the_order_is_abba():
    plan = list(schedule(blocks=4, updates_per_block=5, warmup_updates=3))
    assert plan[:2] == [("a", 3, False), ("b", 3, False)]
    assert "".join(side for side, _, _ in plan[2:]) == "abbaabba"
    assert {(count, counts) for _, count, counts in plan[2:]} == {(5, True)}
    assert list(islice(schedule(2, 1, 0), 1)) == [("a", 1, True)]


def test_a_pair_of_the_same_trainer_gives_every_block(tmp_path):
    made = tiny.supervised(tmp_path, **SETTINGS)
    assert made["status"] == "ok"
    blocks = made["values"]["blocks"]
    assert "".join(block["side"] for block in blocks) == "abbaabba"
    assert all(len(block["step_seconds"]) == 3 and min(block["step_seconds"]) > 0 for block in blocks)


def test_each_side_has_its_own_environment(tmp_path):
    made = tiny.supervised(tmp_path, **{**SETTINGS, "opponent": {"malloc": "raised", "trainer": "tiny"}})
    views = made["machine"]["sides"]
    assert (views["a"]["malloc_raised"], views["b"]["malloc_raised"]) == (False, True)


@pytest.mark.parametrize("side", ["a", "b"])
def test_a_failing_side_is_named(side, tmp_path):
    settings = {**SETTINGS, "model": "raises"} if side == "a" else SETTINGS
    opponent = {"model": "steady"} if side == "a" else {"model": "raises"}
    made = tiny.supervised(tmp_path, **{**settings, "opponent": opponent})
    assert made["status"] == "error"
    assert made["reason"] == f"side {side}: RuntimeError: the wheel came off"
    assert "misbehave" in made["detail"]


def test_the_waiting_side_is_stopped(tmp_path, monkeypatch):
    """While one side takes a step, the other side's process is in the stopped state."""
    run = tiny.a_run(**SETTINGS)
    states = tmp_path / "states"
    monkeypatch.setenv("POCKET_TEST_STATES", str(states))
    made = supervise(run, tiny.prepared(tmp_path, run), command=(sys.executable, os.fspath(tiny.ROOT / SPY)))
    assert made["status"] == "ok", made["detail"]
    seen = states.read_text().split()
    assert len(seen) == 2 * (4 * 3 + 2)
    assert set(seen) == {"T"}


SPY = "tests/bench/spy.py"


def test_process_states_are_read_rightly():
    assert process.look(os.getpid()).state == "R"
