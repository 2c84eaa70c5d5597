"""Answers tell every quantity that their question asks for, what speaks against the engine as well."""

import re

import pytest
import synthetic

from pocket.bench.judge.outcome import outcomes
from pocket.bench.page.answer import answer

ACCUMULATION = """
question: Is it the same?
base: {model: simple_cnn, dataset: digits, resolution: 32, batch_size: 128}
grid:
  - {kind: [train, memory], trainer: [engine, torch], accumulation_steps: [1]}
  - {kind: [train, memory], trainer: [engine, torch], accumulation_steps: [8], divide_loss: [true, false]}
suites: {quick: {}}
show:
  table:
    rows: [trainer, accumulation_steps, divide_loss]
    columns: [accuracy, test_loss, live_peak_bytes, step_seconds]
"""
TABULAR = synthetic.TABULAR.replace("kind: [train]", "kind: [train, memory]").replace(
    "final_loss, step_seconds", "final_loss, step_seconds, live_peak_bytes"
)


def said(folder, text, changes=lambda run: None, keep=lambda run: True):
    plan = synthetic.plan_of(folder / "experiments", {"one": text})
    for run in plan.runs:
        if keep(run):
            synthetic.write_record(run, folder / "results", changes(run))
    sentences = answer(plan.experiments[0], outcomes(plan.runs, folder / "results"))
    return [sentence.replace("\N{NO-BREAK SPACE}", " ") for sentence in sentences]


def correct(counts):
    """Records whose last epoch has so many right of 360; `counts` asks the settings."""

    def changes(run):
        values = synthetic.body(run)["values"]
        if "epochs" in values:
            values["epochs"][-1].update(correct=counts(run.settings), total=360)
        return {"values": values}

    return changes


def test_a_sweep_tells_memory_time_and_accuracy(tmp_path):
    right = {64: 358, 128: 355, 256: 344}
    sentences = said(tmp_path, synthetic.BATCH_SWEEP, correct(lambda settings: right[settings["batch_size"]]))
    starts = ["Live peak", "Process peak", "Step time", "Throughput", "Test accuracy"]
    assert [sentence.split(",")[0] for sentence in sentences] == starts
    change = "99.44 % → 95.56 % (−3.89 points)"
    assert sentences[-1] == f"Test accuracy, batch size 64 → 256: engine {change}; PyTorch {change}."
    assert "engine 25.3 MiB → 74.1 MiB (×2.93); PyTorch 46.0 MiB → 157 MiB (×3.41)" in sentences[0]


def test_a_sweep_that_ends_in_a_failure_says_so(tmp_path):
    broken = synthetic.failed("oom_host", "exit status 137")
    lost = {"trainer": "engine", "batch_size": 256}
    sentences = said(
        tmp_path,
        synthetic.BATCH_SWEEP,
        lambda run: broken if lost.items() <= run.settings.items() else None,
        lambda run: run.settings["batch_size"] != 64,
    )
    assert sentences[0].startswith("Live peak, batch size 128 → 256: engine 41.6 MiB → oom host; PyTorch 83.0 MiB →")


def test_crossed_settings_are_told_against_the_first_row_of_the_same_trainer(tmp_path):
    counts = correct(
        lambda settings: 210 if settings.get("divide_loss") is False else 360 - settings["accumulation_steps"]
    )
    accuracy, memory, time = said(tmp_path, ACCUMULATION, counts)
    assert accuracy == (
        "Test accuracy, accumulation steps 1: engine 99.72 %, PyTorch 99.72 %; "
        "accumulation steps 8, loss divided: engine −1.94 points, PyTorch −1.94 points; "
        "accumulation steps 8, loss not divided: engine −41.39 points, PyTorch −41.39 points."
    )
    assert memory.startswith("Live peak, accumulation steps 1: engine 41.6 MiB, PyTorch 83.0 MiB; ")
    assert re.search(r"loss divided: engine ×(0\.9|1\.0)\d, PyTorch ×", time)


def test_one_thing_tells_step_time_and_its_ratio(tmp_path):
    score, time, memory = said(tmp_path, TABULAR)
    assert score.startswith("R²: engine 0.980, PyTorch 0.980, difference 0.00000")
    assert time.startswith("Step time: engine 3")
    assert "engine / PyTorch 0.9" in time
    assert memory == "Live peak: engine 25.3 MiB, PyTorch 46.0 MiB, engine / PyTorch 0.55×."


def test_step_times_of_runs_apart_are_not_told_where_pairs_are(tmp_path):
    sentences = said(tmp_path, synthetic.ENGINE_VS_TORCH)
    assert sentences[0].startswith("The engine's step takes 1.3")
    assert not any(sentence.startswith("Step time") for sentence in sentences)


@pytest.mark.parametrize("trainer", ["engine", "torch"])
def test_one_trainer_alone_tells_all_that_it_has(tmp_path, trainer):
    text = TABULAR.replace("[engine, torch]", f"[{trainer}]")
    assert [sentence.split(":")[0] for sentence in said(tmp_path, text)] == ["R²", "Step time", "Live peak"]
