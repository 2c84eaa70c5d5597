"""Both trainers' scores: paired by seed, one value a seed, and only where they share one."""

import pytest
import synthetic

from pocket.bench.judge.contrast import contrasts, things
from pocket.bench.judge.outcome import outcomes

TEXT = """
question: Is it as accurate?
base: {model: mlp, dataset: digits}
grid:
  - {kind: [train], trainer: [engine]}
  - {kind: [train], trainer: [torch], malloc: [default, raised]}
seeds: [0, 1, 2]
suites: {quick: {}}
show:
  table: {rows: [trainer], columns: [accuracy]}
"""
CORRECT = {"engine": {0: 330, 1: 300, 2: 320}, "torch": {0: 327, 1: 297, 2: 317}}


@pytest.fixture
def found(tmp_path):
    plan = synthetic.plan_of(tmp_path / "e", {"x": TEXT})
    changes = {}
    for run in plan.runs:
        values = synthetic.body(run)["values"]
        values["epochs"][-1] |= {"correct": CORRECT[run.settings["trainer"]][run.settings["seed"]], "total": 360}
        changes[run.id] = {"values": values}
    synthetic.write_all(plan, tmp_path, changes)
    return plan, tmp_path


def test_the_difference_is_paired_by_seed_and_counts_a_seed_once(found):
    plan, folder = found
    (one,) = contrasts(outcomes(plan.runs, folder).values(), "accuracy")
    assert one.difference.n == 3
    assert one.difference.value == pytest.approx(3 / 360)
    # Each seed differs by exactly three samples: paired, nothing is left to chance.
    assert one.difference.high - one.difference.low < 1e-9
    assert one.engine.value == pytest.approx(950 / 1080)
    assert one.engine.std > 0.04


def test_a_seed_that_one_trainer_lacks_is_left_out(found):
    plan, folder = found
    lost = next(run for run in plan.runs if run.settings["trainer"] == "engine" and run.settings["seed"] == 1)
    synthetic.write_record(lost, folder, synthetic.failed("timeout", "600 s are over"))
    (one,) = contrasts(outcomes(plan.runs, folder).values(), "accuracy")
    assert one.difference.n == 2
    assert one.torch.value == pytest.approx((327 + 317) / 720)


def test_nothing_is_compared_when_one_trainer_has_no_run(found):
    plan, folder = found
    engine = [run for run in plan.runs if run.settings["trainer"] == "engine"]
    assert contrasts(outcomes(engine, folder).values(), "accuracy") == []


def test_what_is_trained_is_told_apart_from_how(found, tmp_path):
    plan, folder = found
    assert things(outcomes(plan.runs, folder).values(), "train") == 1
    sweep = synthetic.plan_of(tmp_path / "sweep", {"x": synthetic.BATCH_SWEEP})
    assert things(outcomes(sweep.runs, folder).values(), "train") == 3
