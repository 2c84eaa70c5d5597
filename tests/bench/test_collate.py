"""Tables: which runs stand in a row, what happens to failed ones, and whether names and numbers come back unchanged."""

import csv
import json
import math

import pandas as pd
import pytest
import synthetic

from pocket.bench.draw.plot import series_text
from pocket.bench.judge.collate import table, table_path, write_table
from pocket.bench.judge.outcome import outcomes
from pocket.bench.judge.series import plots
from pocket.bench.plan.spec import Experiment, Run

SEEDS = """
question: How well does it train?
base: {model: mlp, dataset: digits}
grid: {kind: [train]}
seeds: [0, 1, 2]
suites: {quick: {}}
show:
  table: {rows: [ROWS], columns: [accuracy, step_seconds]}
"""
SCORES = {0: 324, 1: 300, 2: 288}  # correct of 360: 0.9, 0.8333, 0.8


def scored(run, correct):
    values = synthetic.body(run)["values"]
    values["epochs"] = [{"number": 0, "updates": 23, "correct": correct, "total": 360, "loss_sum": 36.0}]
    return {"values": values}


@pytest.fixture
def three(tmp_path):
    """Three runs that differ in their seed, their experiment with a row each or one for all, and the results folder."""
    plans = {
        rows: synthetic.plan_of(tmp_path / rows, {"x": SEEDS.replace("ROWS", rows)}) for rows in ("seed", "trainer")
    }
    results = tmp_path / "results"
    runs = plans["seed"].runs
    synthetic.write_all(plans["seed"], results, {run.id: scored(run, SCORES[run.settings["seed"]]) for run in runs})
    return runs, {rows: plan.experiments[0] for rows, plan in plans.items()}, results


def read(experiment, results):
    with write_table(experiment, results).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_seeds_of_a_row_give_mean_student_interval_and_n(three):
    _, experiments, results = three
    (row,) = read(experiments["trainer"], results)
    mean = (0.9 + 300 / 360 + 0.8) / 3
    std = math.sqrt(sum((x - mean) ** 2 for x in (0.9, 300 / 360, 0.8)) / 2)
    assert float(row["accuracy"]) == pytest.approx(mean, rel=1e-12)
    assert float(row["accuracy_std"]) == pytest.approx(std, rel=1e-12)
    assert float(row["accuracy_high"]) == pytest.approx(mean + 4.302653 * std / 3**0.5, rel=1e-6)
    assert (row["accuracy_n"], row["accuracy_runs"], row["status"], row["reason"]) == ("3", "3 of 3", "ok", "")


def test_a_run_out_of_memory_keeps_its_row_with_empty_cells(three):
    runs, experiments, results = three
    synthetic.write_record(runs[1], results, synthetic.failed("oom_host", "exit status 137"))
    rows = read(experiments["seed"], results)
    assert [row["seed"] for row in rows] == ["0", "1", "2"]
    assert [row["status"] for row in rows] == ["ok", "oom_host", "ok"]
    assert rows[1]["reason"] == "exit status 137"
    assert {rows[1][name] for name in ("accuracy", "accuracy_low", "accuracy_std", "step_seconds")} == {""}
    assert rows[1]["accuracy_runs"] == "0 of 1"


def test_a_mean_over_the_rest_says_so(three):
    runs, experiments, results = three
    synthetic.write_record(runs[1], results, synthetic.failed("oom_host", "exit status 137"))
    (row,) = read(experiments["trainer"], results)
    assert float(row["accuracy"]) == pytest.approx(0.85)
    assert float(row["accuracy_std"]) == pytest.approx(0.0707107, abs=1e-7)
    assert (row["accuracy_runs"], row["status"]) == ("2 of 3", "2 ok, 1 oom_host")


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        (b"", "invalid", "empty"),
        (b'{"schema": 1, "run": ', "invalid", "not valid JSON"),
        (b"[]", "invalid", "wanted an object"),
        (None, "missing", "no record yet"),
    ],
)
def test_an_unreadable_record_keeps_its_row(three, content, status, said):
    runs, experiments, results = three
    path = results / "records" / f"{runs[1].id}.json"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    rows = read(experiments["seed"], results)
    assert [row["status"] for row in rows] == ["ok", status, "ok"]
    assert said in rows[1]["reason"]
    assert rows[1]["accuracy"] == ""
    (group,) = read(experiments["trainer"], results)
    assert group["accuracy_runs"] == "2 of 3"


def test_an_altered_record_does_not_count(three):
    runs, experiments, results = three
    path = results / "records" / f"{runs[1].id}.json"
    path.write_text(path.read_text().replace('"correct": 300', '"correct": 360'))
    row = read(experiments["seed"], results)[1]
    assert (row["status"], row["accuracy"]) == ("invalid", "")
    assert "altered" in row["reason"]


def test_a_record_without_accuracy_leaves_the_cell_empty_and_is_counted(three):
    runs, experiments, results = three
    synthetic.write_record(runs[1], results, {"values": synthetic.body(runs[1])["values"] | {"epochs": []}})
    row = read(experiments["seed"], results)[1]
    assert (row["status"], row["accuracy"], row["accuracy_runs"]) == ("ok", "", "0 of 1")
    assert row["step_seconds"] != ""
    assert read(experiments["trainer"], results)[0]["accuracy_runs"] == "2 of 3"


def test_one_seed_has_an_empty_standard_deviation(three):
    _, experiments, results = three
    row = read(experiments["seed"], results)[0]
    assert (row["accuracy"], row["accuracy_std"], row["accuracy_low"]) == ("0.9", "", "")


def test_a_table_of_nothing_but_missing_runs_is_written(three):
    runs, experiments, results = three
    for run in runs:
        (results / "records" / f"{run.id}.json").unlink()
    assert [row["status"] for row in read(experiments["seed"], results)] == ["missing"] * 3


def test_stale_records_are_counted(three):
    runs, experiments, results = three
    synthetic.write_record(runs[2], results, {"code": {"digest": "old", "parts": {}}})
    assert [row["stale"] for row in read(experiments["seed"], results)] == ["0 of 1", "0 of 1", "1 of 1"]
    assert read(experiments["trainer"], results)[0]["stale"] == "1 of 3"


NAMES = [
    "NA",
    "None",
    "null",
    "1e5",
    "007",
    "BaNaNa-Infinity",
    "a,b",
    'q"t',
    "two\nlines",
    "a\r\nb",
    " blank ",
    "<b>x</b>",
]


def named(tmp_path):
    show = {
        "table": {"rows": ["dataset"], "columns": ["accuracy"]},
        "plots": [{"x": "dataset", "y": "accuracy", "by": None, "kind": "bars"}],
    }
    plan = synthetic.plan_of(tmp_path / "e", {"x": SEEDS.replace("ROWS", "trainer").replace("[0, 1, 2]", "[0]")})
    settings = plan.runs[0].settings
    runs = tuple(Run(f"run{n}", {**settings, "dataset": name}) for n, name in enumerate(NAMES))
    for run in runs:
        synthetic.write_record(run, tmp_path / "results")
    return Experiment("names", "Do names stay?", "Names", runs, show, tmp_path / "names.yaml")


def test_names_return_unchanged_through_csv(tmp_path):
    path = write_table(named(tmp_path), tmp_path / "results")
    with path.open(encoding="utf-8", newline="") as file:
        assert [row["dataset"] for row in csv.DictReader(file)] == NAMES
    frame = pd.read_csv(path, dtype=str, keep_default_na=False, lineterminator="\n")
    assert list(frame["dataset"]) == NAMES


def test_names_return_unchanged_through_json(tmp_path):
    experiment = named(tmp_path)
    (data,) = plots(experiment, outcomes(experiment.runs, tmp_path / "results"))
    assert json.loads(series_text(data))["series"][0]["x"] == NAMES


def test_a_diverged_run_is_null_with_a_reason_and_strict_json(three):
    runs, experiments, results = three
    for run, lost in zip(runs, (math.nan, math.inf, None), strict=True):
        values = synthetic.body(run)["values"]
        if lost is None:
            continue
        values["updates"]["loss"][4:] = [lost] * len(values["updates"]["loss"][4:])
        synthetic.write_record(run, results, {"status": "diverged", "reason": f"loss {lost} at 5", "values": values})
    rows = read(experiments["seed"], results)
    assert [row["status"] for row in rows] == ["diverged", "diverged", "ok"]
    assert "nan at 5" in rows[0]["reason"]
    for path in (results / "records").glob("*.json"):
        json.loads(path.read_text(), parse_constant=pytest.fail)


def test_a_memory_run_joins_the_rows_of_all_its_seeds_and_a_pair_that_of_its_opponent(tmp_path):
    plan = synthetic.plan_of(tmp_path / "e", {"engine_vs_torch": synthetic.ENGINE_VS_TORCH})
    synthetic.write_all(plan, tmp_path)
    (experiment,) = plan.experiments
    rows = {(row.key["trainer"], row.key["malloc"]): row for row in table(experiment, outcomes(plan.runs, tmp_path))}
    assert list(rows) == [("engine", "default"), ("torch", "default"), ("torch", "raised")]
    kinds = {key: sorted(one.kind for one in row.outcomes) for key, row in rows.items()}
    assert kinds["engine", "default"] == ["memory", "train", "train", "train"]
    assert kinds["torch", "default"] == ["memory", "pair", "train", "train", "train"]
    assert kinds["torch", "raised"] == ["pair", "train", "train", "train"]
    ratio = rows["torch", "raised"].cells["step_ratio"].estimate
    assert ratio.value == pytest.approx(0.031 / 0.0235, rel=0.02)
    assert ratio.low < ratio.value < ratio.high
    assert rows["engine", "default"].cells["step_ratio"].planned == 0


def test_a_setting_that_concerns_some_runs_only_does_not_tear_a_row_apart(tmp_path):
    text = synthetic.BATCH_SWEEP.replace(
        "rows: [trainer, batch_size]", "rows: [trainer, memory_format, epochs, batch_size]"
    )
    plan = synthetic.plan_of(tmp_path / "e", {"batch_sweep": text})
    synthetic.write_all(plan, tmp_path)
    rows = table(plan.experiments[0], outcomes(plan.runs, tmp_path))
    assert len(rows) == 6
    assert all({one.kind for one in row.outcomes} == {"train", "memory"} for row in rows)
    assert all(row.cells["live_peak_bytes"].estimate for row in rows)
    header_and_rows = table_path(plan.experiments[0], tmp_path)
    assert write_table(plan.experiments[0], tmp_path) == header_and_rows
    with header_and_rows.open(newline="") as file:
        assert {row["memory_format"] for row in csv.DictReader(file)} == {"", "channels_last"}


def test_a_missing_number_names_its_reason(tmp_path):
    plan = synthetic.plan_of(tmp_path / "e", {"batch_sweep": synthetic.BATCH_SWEEP})
    synthetic.write_all(plan, tmp_path)
    cells = [row.cells["reserved_peak_bytes"] for row in table(plan.experiments[0], outcomes(plan.runs, tmp_path))]
    assert [cell.estimate is None for cell in cells] == [False] * 3 + [True] * 3
    assert "keeps no pool" in cells[-1].reason
