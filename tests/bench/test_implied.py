"""A larger batch of a series whose smaller one ran out of memory is recorded without being tried."""

import pytest
from synthetic import failed, plan_of, write_record

from pocket.bench import record as records
from pocket.bench.command import main
from pocket.bench.implied import smaller_that_ran_out

TEXT = """
question: Which batch fits?
base: {model: simple_cnn, dataset: digits, resolution: 32}
grid: {kind: [train, memory], trainer: [engine, torch], batch_size: [64, 128, 256]}
suites: {quick: {}}
show: {table: {rows: [trainer, batch_size], columns: [live_peak_bytes]}}
"""


@pytest.fixture
def plan(tmp_path):
    return plan_of(tmp_path / "experiments", {"batch": TEXT})


def the_run(plan, kind, trainer, batch):
    wanted = {"kind": kind, "trainer": trainer, "batch_size": batch}
    return next(run for run in plan.runs if wanted.items() <= run.settings.items())


def test_larger_batch_of_the_series_is_implied_and_no_other(plan, tmp_path):
    out = the_run(plan, "memory", "torch", 128)
    write_record(out, tmp_path, failed("oom_device", "asked for 1 GiB"))
    implied = [run.id for run in plan.runs if smaller_that_ran_out(run, plan.runs, tmp_path)]
    assert implied == [the_run(plan, "memory", "torch", 256).id]


def test_batch_that_fitted_or_failed_otherwise_implies_nothing(plan, tmp_path):
    write_record(the_run(plan, "memory", "torch", 64), tmp_path)
    write_record(the_run(plan, "memory", "torch", 128), tmp_path, failed("error", "a mistake"))
    assert not any(smaller_that_ran_out(run, plan.runs, tmp_path) for run in plan.runs)


def test_a_guess_that_memory_ran_out_implies_nothing(plan, tmp_path):
    """A kill by hand must not keep the larger batches from being tried for good."""
    out = the_run(plan, "memory", "torch", 64)
    write_record(out, tmp_path, failed("oom_host", "killed from outside, most likely for want of host memory"))
    assert not any(smaller_that_ran_out(run, plan.runs, tmp_path) for run in plan.runs)


def test_command_writes_the_record_that_names_the_sibling(plan, tmp_path, capsys):
    out, larger = (the_run(plan, "train", "engine", batch) for batch in (64, 256))
    write_record(out, tmp_path, failed("oom_host", "killed by the system") | {"values": {"shortage": {"update": 4}}})
    folders = ["--experiments", str(tmp_path / "experiments"), "--results", str(tmp_path)]
    assert main(["run", larger.id, *folders]) == 0
    record = records.read(records.path_of(larger.id, tmp_path))
    assert record["status"] == "implied_oom"
    assert out.id in record["reason"]
    assert "batch 64" in record["reason"]
    assert record["settings"] == dict(larger.settings)
    assert "implied_oom" in capsys.readouterr().out
