"""Killed in the middle, refused beside a living one, and made whole by the same one command: with real runs."""

import os
import signal

import pytest
from scratch import at_work, make, project, snakemake, start_make, wait_until

from pocket.bench.spec import load

pytestmark = pytest.mark.slow

QUICK_THEN_LONG = """
question: Does a killed workflow lose anything?
base: {model: mlp, dataset: digits, train_samples: 256, test_samples: 50, trainer: torch, warmup_updates: 1}
grid:
  - {batch_size: [16], max_updates: [5]}
  - {batch_size: [32], epochs: [1500]}
suites: {quick: {}}
show:
  table: {rows: [batch_size], columns: [accuracy, step_seconds]}
  plots: [{x: update, y: loss_curve, by: [batch_size]}]
"""


@pytest.fixture
def folder(tmp_path):
    made = project(tmp_path, {"killed": QUICK_THEN_LONG})
    yield made
    for pid in at_work(made):
        os.kill(pid, signal.SIGKILL)


def records(folder):
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.glob("results/records/*.json")}


def is_training(folder):
    """The long run's worker is at work."""
    first_done = any("-b16-" in name for name in records(folder))
    return first_done and any("pocket.bench.run" in command for command in at_work(folder).values())


def test_one_command_recovers_from_a_kill_and_a_living_one_is_refused(folder):
    short, long = (run.id for run in load(folder / "experiments", "quick", "cpu").runs)
    first = start_make(folder)
    wait_until(lambda: is_training(folder), "the second run trains")

    beside = make(folder)
    assert beside.returncode == 2
    assert "results is being worked on by process" in beside.stderr
    by_hand = snakemake(folder, "--config", "suite=quick", "device=cpu")
    assert by_hand.returncode != 0
    assert first.poll() is None

    done_before = records(folder)
    assert list(done_before) == [f"{short}.json"]
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    wait_until(lambda: not at_work(folder), "no process of the killed workflow is left")
    assert records(folder) == done_before

    again = make(folder)
    assert again.returncode == 0, again.stdout + again.stderr
    after = records(folder)
    assert sorted(after) == sorted([f"{short}.json", f"{long}.json"])
    assert after[f"{short}.json"] == done_before[f"{short}.json"]
    assert (folder / "results/report.html").stat().st_size > 1000
    assert not at_work(folder)

    assert make(folder).returncode == 0
    assert records(folder) == after


def test_snakemake_keeps_the_lock_when_only_its_maker_is_killed(folder):
    first = start_make(folder)
    wait_until(lambda: is_training(folder), "the second run trains")
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert any("snakemake" in command for command in at_work(folder).values())
    beside = make(folder)
    assert beside.returncode == 2
    assert "is being worked on" in beside.stderr
    wait_until(lambda: not at_work(folder), "the orphaned workflow ends by itself")
    assert (folder / "results/report.html").exists()
