"""How long the runs of a plan will take, said before they start.

A run that has a record takes what it took. For another, the counted arithmetic is divided by a rate, corrected by what
the records of the same trainer on this machine took against the same count, and starting costs are added.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from pocket.bench import record as records
from pocket.bench.measure.trainers import unsupported
from pocket.bench.plan.identity import Run
from pocket.bench.plan.spec import Plan, needs, sides
from pocket.bench.plan.work import work
from pocket.mistake import Mistake

_FLOPS_A_SECOND = {"cpu": 60e9, "cuda": 6e12}  # a CPU thread; a GPU
_UPDATE_SECONDS = {"engine": 0.002, "torch": 0.002}  # what an update costs beside its arithmetic
_START_SECONDS = {"engine": 1.0, "torch": 3.0}  # interpreter, libraries, data, record
_REFUSED_SECONDS = 0.5  # a run that no trainer can do is told so at once
_PROFILED_SECONDS = 1.0  # a memory run watches every allocation
_PREPARE_SECONDS = 2.5  # one data set, or one file of initial weights
_KERNELS_SECONDS = 30.0  # translated once on a machine
_SHOW_SECONDS = 4.0  # an experiment's table and plots


def train_seconds(settings: Mapping[str, Any]) -> float:
    """Seconds of training and scoring of a run, by counted arithmetic and assumed rates."""
    if settings["kind"] == "allocation":
        return 0.5
    total = 0.0
    for side in sides(settings):
        done = work(side)
        rate = _FLOPS_A_SECOND[side["device"]] * (side["threads"] if side["device"] == "cpu" else 1)
        total += done.flops / rate + done.updates * side["accumulation_steps"] * _UPDATE_SECONDS[side["trainer"]]
    return total + (_PROFILED_SECONDS if settings["kind"] == "memory" else 0.0)


def seconds(runs: Iterable[Run], results: Path) -> dict[str, float]:
    """Run id -> seconds, all included. Reads the records that there are."""
    taken = {run.id: record["seconds"] for run in runs if (record := _record(run, results))}
    correction = _correction([(run, taken[run.id]) for run in runs if run.id in taken])
    return {run.id: taken[run.id]["total"] if run.id in taken else _predicted(run.settings, correction) for run in runs}


def _predicted(settings: Mapping[str, Any], correction: Mapping[str, float]) -> float:
    if any(unsupported(side) for side in sides(settings)):
        return _REFUSED_SECONDS
    starting = sum(_START_SECONDS[side["trainer"]] for side in sides(settings))
    limit = settings["time_limit_seconds"]
    return min(starting + train_seconds(settings) * correction.get(settings["trainer"], 1.0), limit)


def _correction(taken: list[tuple[Run, Mapping[str, Any]]]) -> dict[str, float]:
    """Trainer -> factor between what its training runs took and what was counted."""
    ratios: dict[str, list[float]] = {}
    for run, spent in taken:
        if run.settings["kind"] == "train" and spent.get("train"):
            actual = spent["train"] + (spent.get("score") or 0.0)
            ratios.setdefault(run.settings["trainer"], []).append(actual / train_seconds(run.settings))
    return {trainer: median(found) for trainer, found in ratios.items()}


def _record(run: Run, results: Path) -> dict[str, Any] | None:
    try:
        record = records.read(records.path_of(run.id, results))
    except Mistake:
        return None
    return record if record["status"] == "ok" and record["seconds"].get("total") else None


def describe(plan: Plan, results: Path) -> str:
    """A few lines: how many runs, how many are still to do, how long they will take by kind."""
    waiting = [run for run in plan.runs if not records.path_of(run.id, results).exists()]
    by_run = seconds(plan.runs, results)
    lines = [
        f"Suite {plan.suite} on {plan.device}: {len(plan.experiments)} experiments, {len(plan.runs)} runs, "
        f"{len(waiting)} of them to do; estimated {_duration(total_seconds(plan, results))}."
    ]
    for kind in dict.fromkeys(run.settings["kind"] for run in waiting):
        these = [by_run[run.id] for run in waiting if run.settings["kind"] == kind]
        lines.append(
            f"  {len(these):3d} of kind {kind:<10} {_duration(sum(these))}, the longest {_duration(max(these))}"
        )
    return "\n".join(lines)


def total_seconds(plan: Plan, results: Path) -> float:
    """Seconds until the report stands: runs without a record, what they need that is not prepared, tables and plots."""
    waiting = [run for run in plan.runs if not records.path_of(run.id, results).exists()]
    by_run = seconds(plan.runs, results)
    total = sum(by_run[run.id] for run in waiting)
    if not waiting:
        return total
    wanted = [needs(run) for run in waiting]
    data = {name for datas, _ in wanted for name in datas if not (results / "data" / name / "meta.json").exists()}
    weights = {name for _, them in wanted for name in them if not (results / "weights" / f"{name}.npz").exists()}
    total += _PREPARE_SECONDS * (len(data) + len(weights))
    total += 0.0 if (results / "kernels.json").exists() else _KERNELS_SECONDS
    return total + _SHOW_SECONDS * len(plan.experiments)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
