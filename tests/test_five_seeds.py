"""Both trainers learn the digits equally well: five seeds, judged as the report judges them."""

import pytest

from pocket.bench import prepare
from pocket.bench.judge.contrast import contrasts
from pocket.bench.judge.outcome import outcomes
from pocket.bench.judge.stats import student_interval
from pocket.bench.plan.spec import load, needs
from pocket.bench.supervisor.supervise import supervise

DIGITS = """
question: Do both trainers learn the digits equally well?
base: {model: simple_cnn, dataset: digits, resolution: 16, learning_rate: 0.02, schedule: cosine, epochs: 8}
grid:
  trainer: [engine, torch]
seeds: [0, 1, 2, 3, 4]
suites: {cpu: {}}
show: {table: {rows: [trainer], columns: [accuracy]}}
"""


@pytest.mark.slow
def test_both_trainers_pass_97_per_cent_and_differ_by_less_than_a_point(tmp_path, monkeypatch):
    monkeypatch.setenv("POCKET_LOCKS", str(tmp_path))
    experiments, results = tmp_path / "experiments", tmp_path / "results"
    experiments.mkdir()
    (experiments / "digits.yaml").write_text(DIGITS)
    plan = load(experiments, "cpu", "cpu")
    for run in plan.runs:
        data, weights = needs(run)
        for name in data:
            if not (results / "data" / name).exists():
                prepare.prepare_data(name, experiments, results)
        for name in weights:
            prepare.prepare_weights(name, experiments, results)
        supervise(run, results)
    found = outcomes(plan.runs, results)
    assert [one.status for one in found.values()] == ["ok"] * 10
    accuracy: dict[str, list[float]] = {"engine": [], "torch": []}
    for one in found.values():
        last = one.record["values"]["epochs"][-1]
        accuracy[one.run.settings["trainer"]].append(last["correct"] / last["total"])
    assert min(accuracy["engine"] + accuracy["torch"]) > 0.97
    differences = [a - b for a, b in zip(accuracy["engine"], accuracy["torch"], strict=True)]
    low, high = student_interval(differences, 0.95)
    assert -0.01 < low <= 0 <= high < 0.01
    assert contrasts(found.values(), "accuracy")[0].difference.value == pytest.approx(sum(differences) / 5)
