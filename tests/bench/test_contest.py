"""`make bench`, without its measuring: what it prepares, removes, refuses and prints."""

import json

import pytest
from scratch import ROOT
from synthetic import failed, write_record

from pocket.bench.judge import contest
from pocket.bench.plan.spec import load, needs
from pocket.mistake import Mistake

EXPERIMENTS = ROOT / "experiments"


@pytest.fixture
def plan():
    return load(EXPERIMENTS, "bench", "cpu")


@pytest.fixture
def prepared(monkeypatch):
    """What would have been prepared, in order."""
    made = []
    monkeypatch.setattr(contest.prepare, "prepare_data", lambda name, *folders: made.append(name))
    monkeypatch.setattr(contest.prepare, "prepare_weights", lambda name, *folders: made.append(name))
    monkeypatch.setattr(contest.prepare, "prepare_kernels", lambda results: made.append("kernels"))
    monkeypatch.setattr(contest, "supervise", write_record)
    return made


def test_everything_is_prepared_anew(plan, prepared, tmp_path):
    """What lies there may be of older code."""
    data, weights = needs(plan.runs[0])
    (tmp_path / "data" / data[0]).mkdir(parents=True)
    (tmp_path / "data" / data[0] / "meta.json").write_text("{}")
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / f"{weights[0]}.npz").write_text("")
    summary = contest.contest(plan, EXPERIMENTS, tmp_path)
    assert {*data, *weights, "kernels"} <= set(prepared)
    assert json.loads((tmp_path / "bench.json").read_text()) == summary


def test_the_matrix_kernel_is_printed_and_whether_it_was_forced(plan, prepared, tmp_path):
    summary = contest.contest(plan, EXPERIMENTS, tmp_path)
    assert "kernel SkylakeX, not forced" in contest.describe(summary).splitlines()[-1]
    summary["machine"] |= {"blas_kernel_forced": "Haswell"}
    assert "forced by OPENBLAS_CORETYPE=Haswell" in contest.describe(summary).splitlines()[-1]
    summary["machine"] |= {"blas": None, "blas_reason": "none was found"}
    assert contest.describe(summary).splitlines()[-1] == "BLAS kernel of NumPy unknown: none was found"


def test_a_run_that_failed_leaves_no_ratio(plan, prepared, tmp_path, monkeypatch):
    monkeypatch.setattr(contest, "supervise", lambda run, results: write_record(run, results, failed("error", "broke")))
    with pytest.raises(Mistake, match=r"ended as error: broke; the benchmark needs all its runs"):
        contest.contest(plan, EXPERIMENTS, tmp_path)
    assert not (tmp_path / "bench.json").exists()
