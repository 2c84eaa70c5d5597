"""Killed in the middle, refused beside a living one, and made whole by the same one command: with real runs."""

import os
import signal

import pytest
from scratch import at_work, make, project, snakemake, start_make, wait_until

from pocket.bench.plan.spec import load

pytestmark = pytest.mark.slow

TWO_RUNS = """
question: Does a killed workflow lose anything?
base: {model: mlp, dataset: digits, train_samples: 256, test_samples: 50, trainer: torch, warmup_updates: 1}
grid:
  - {batch_size: [16], max_updates: [5]}
  - {batch_size: [32], epochs: [20]}
suites: {quick: {}}
show:
  table: {rows: [batch_size], columns: [accuracy, step_seconds]}
  plots: [{x: update, y: loss_curve, by: [batch_size]}]
"""


@pytest.fixture
def folder(tmp_path):
    made = project(tmp_path, {"killed": TWO_RUNS})
    yield made
    for pid in at_work(made):
        os.kill(pid, signal.SIGKILL)


def records(folder):
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.glob("results/records/*.json")}


def stop_the_second_run(folder):
    """Wait for the worker of the second run and halt it, so that nothing here depends on how fast it is."""

    def workers():
        begun = any("-b16-" in name for name in records(folder))
        return [pid for pid, command in at_work(folder).items() if begun and "pocket.bench.measure.run" in command]

    wait_until(workers, "the second run is at work")
    os.kill(workers()[0], signal.SIGSTOP)
    return workers()[0]


def test_one_command_recovers_from_a_kill_and_a_living_one_is_refused(folder):
    first_run, second_run = (run.id for run in load(folder / "experiments", "quick", "cpu").runs)
    first = start_make(folder)
    stop_the_second_run(folder)

    beside = make(folder)
    assert beside.returncode == 2
    assert "results is being worked on by process" in beside.stderr
    by_hand = snakemake(folder, "--config", "suite=quick", "device=cpu")
    assert by_hand.returncode != 0
    assert first.poll() is None

    done_before = records(folder)
    assert list(done_before) == [f"{first_run}.json"]
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    wait_until(lambda: not at_work(folder), "no process of the killed workflow is left")
    assert records(folder) == done_before

    again = make(folder)
    assert again.returncode == 0, again.stdout + again.stderr
    after = records(folder)
    assert sorted(after) == sorted([f"{first_run}.json", f"{second_run}.json"])
    assert after[f"{first_run}.json"] == done_before[f"{first_run}.json"]
    assert (folder / "results/report.html").stat().st_size > 1000
    assert not at_work(folder)

    assert make(folder).returncode == 0
    assert records(folder) == after


def test_snakemake_keeps_the_lock_when_only_its_maker_is_killed(folder):
    first = start_make(folder)
    worker = stop_the_second_run(folder)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert any("snakemake" in command for command in at_work(folder).values())
    beside = make(folder)
    assert beside.returncode == 2
    assert "is being worked on" in beside.stderr
    os.kill(worker, signal.SIGCONT)
    wait_until(lambda: not at_work(folder), "the orphaned workflow ends by itself")
    assert (folder / "results/report.html").exists()
