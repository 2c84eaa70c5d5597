"""The first losses of both trainers, and PyTorch's own spread beside their difference."""

import pytest
from synthetic import body, plan_of, write_record

from pocket.bench.judge.outcome import outcomes
from pocket.bench.page.side_by_side import first_losses

BOTH_FORMATS = """
question: How far do the losses part?
base: {model: simple_cnn, dataset: digits, resolution: 32}
grid:
  - {kind: [train], trainer: [engine]}
  - {kind: [train], trainer: [torch], memory_format: [channels_last, contiguous]}
suites: {quick: {}}
show: {table: {rows: [trainer, memory_format], columns: [first_losses]}}
"""
LOSSES = {"engine": 1.01, "channels_last": 1.0, "contiguous": 1.03}


def trained(folder, losses):
    plan = plan_of(folder / "experiments", {"losses": BOTH_FORMATS})
    for run in plan.runs:
        values = body(run)["values"]
        first = losses[run.settings.get("memory_format", "engine")]
        values["updates"]["loss"] = [first] * len(values["updates"]["loss"])
        write_record(run, folder / "results", {"values": values})
    return list(outcomes(plan.runs, folder / "results").values())


@pytest.fixture
def members(tmp_path):
    return trained(tmp_path, LOSSES)


def columns(sheet):
    return {cell["name"]: float(cell["sort"]) for cell in sheet["rows"][0]["cells"]}


def test_pytorchs_own_spread_stands_beside_the_engines_difference(members):
    (sheet,) = first_losses(members)
    assert len(sheet["rows"]) == 10
    first = columns(sheet)
    assert (first["engine"], first["PyTorch"], first["PyTorch, N C H W"]) == (1.01, 1.0, 1.03)
    assert first["engine from PyTorch"] == pytest.approx(0.01)
    assert first["PyTorch from itself"] == pytest.approx(0.03)


def test_one_format_alone_has_no_spread_of_its_own(members):
    (sheet,) = first_losses([one for one in members if one.run.settings.get("memory_format") != "contiguous"])
    assert set(columns(sheet)) == {"update", "engine", "PyTorch", "engine from PyTorch"}
    assert sheet["closing"] == ""


@pytest.mark.parametrize(
    ("engine", "contiguous", "ending", "failed"),
    [
        (1.01, 1.03, "1.0e-02, largest |PyTorch, N C H W - PyTorch| 3.0e-02, ratio 0.33; at most 3 wanted.", False),
        (0.875, 1.03125, "1.2e-01, largest |PyTorch, N C H W - PyTorch| 3.1e-02, ratio 4.00; at most 3 wanted.", True),
        (1.0, 1.0, "0.0e+00, largest |PyTorch, N C H W - PyTorch| 0.0e+00: no ratio; at most 3 wanted.", False),
        (1.5, 1.0, "5.0e-01, largest |PyTorch, N C H W - PyTorch| 0.0e+00: no ratio; at most 3 wanted.", True),
    ],
)
def test_a_line_judges_the_difference_by_pytorchs_own(tmp_path, engine, contiguous, ending, failed):
    losses = {"engine": engine, "channels_last": 1.0, "contiguous": contiguous}
    (sheet,) = first_losses(trained(tmp_path, losses))
    assert sheet["closing"] == f"Largest |engine - PyTorch| {ending}"
    assert sheet["failed"] is failed
