"""`make bench`: the engine against PyTorch, every run of suite `bench` anew, summed up in results/bench.json."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pocket.bench import instance, prepare, record
from pocket.bench.judge.outcome import Outcome, outcome
from pocket.bench.judge.pairing import Pair, decisive, pairs
from pocket.bench.plan.identity import Run
from pocket.bench.plan.spec import Plan, needs
from pocket.bench.supervisor.supervise import supervise
from pocket.mistake import Mistake

Measured = Sequence[Outcome]


@dataclass(frozen=True)
class Mark:
    """A ratio of the engine to PyTorch, lower is better, and the value it is to stay under."""

    key: str
    at_most: float
    meaning: str
    measure: Callable[[Measured], dict[str, Any]]


def _step_ratio(choose: Callable[[list[Pair]], Pair]) -> Callable[[Measured], dict[str, Any]]:
    def measure(found: Measured) -> dict[str, Any]:
        (group,) = decisive(pairs(found))
        pair = choose(group)
        return {
            "ratio": pair.ratio.value,
            "interval": [pair.ratio.low, pair.ratio.high],
            "quads": pair.ratio.n,
            "engine_step_seconds": pair.a_seconds,
            "torch_step_seconds": pair.b_seconds,
            "torch_malloc": pair.b["malloc"],
            "run": pair.outcome.run.id,
        }

    return measure


def _at_default(group: list[Pair]) -> Pair:
    return next(pair for pair in group if pair.b["malloc"] == "default")


def _live_peak_ratio(found: Measured) -> dict[str, Any]:
    peaks = {
        one.run.settings["trainer"]: one.record["values"]["memory"]["live_peak_bytes"]
        for one in found
        if one.kind == "memory" and one.record is not None
    }
    ratio = peaks["engine"] / peaks["torch"]
    return {"ratio": ratio, "engine_live_peak_bytes": peaks["engine"], "torch_live_peak_bytes": peaks["torch"]}


MARKS = (
    Mark(
        "cpu_step_ratio_none",
        1.6,
        "a step, against PyTorch at its faster allocator setting",
        _step_ratio(lambda g: g[0]),
    ),
    Mark("cpu_step_ratio_default", 1.1, "a step, against PyTorch at the default setting", _step_ratio(_at_default)),
    Mark("live_peak_ratio_none", 0.60, "bytes of live tensors at the peak of a step", _live_peak_ratio),
)


def contest(plan: Plan, experiments: Path, results: Path) -> dict[str, Any]:
    """Measure every run of the plan again, write results/bench.json and return what it holds.

    Raises Mistake when another instance works on the folder, and when a run did not end well: no ratio is made of what
    is left.
    """
    with instance.holding(results):  # beside a living workflow it would measure that, too, and take its inputs away
        _prepare(plan, experiments, results)
        summary = summarise([_measured(run, results) for run in plan.runs])
        record.place(results / "bench.json", (json.dumps(summary, indent=1, allow_nan=False) + "\n").encode())
    return summary


def _measured(run: Run, results: Path) -> Outcome:
    record.path_of(run.id, results).unlink(missing_ok=True)
    supervise(run, results)
    found = outcome(run, results)
    if not found.ok:
        raise Mistake(f"{run.id} ended as {found.status}: {found.reason}; the benchmark needs all its runs")
    return found


def summarise(found: Measured) -> dict[str, Any]:
    """key -> ratio for every mark, the seconds and bytes behind each under `behind`, and where it was measured."""
    behind = {mark.key: {**mark.measure(found), "at_most": mark.at_most} for mark in MARKS}
    first = found[0].record or {}
    ratios = {key: values["ratio"] for key, values in behind.items()}
    return {**ratios, "behind": behind, "machine": first["machine"], "runs": [one.run.id for one in found]}


def describe(summary: Mapping[str, Any]) -> str:
    """One line a mark: its ratio, interval, the value it is to stay under, and what it means; then the BLAS kernel."""
    lines = []
    for mark in MARKS:
        values = summary["behind"][mark.key]
        interval = "{:.3f} to {:.3f}".format(*values["interval"]) if "interval" in values else ""
        met = "met" if values["ratio"] <= mark.at_most else "NOT met"
        lines.append(
            f"{mark.key:24} {values['ratio']:6.3f}  {interval:15}  <= {mark.at_most:<4} {met:8} {mark.meaning}"
        )
    return "\n".join([*lines, *_details(summary["behind"]), _blas(summary["machine"])])


def _details(behind: Mapping[str, Any]) -> list[str]:
    step, default, live = (behind[mark.key] for mark in MARKS)
    engine_mib, torch_mib = (live[f"{trainer}_live_peak_bytes"] / 2**20 for trainer in ("engine", "torch"))
    return [
        f"engine {step['engine_step_seconds'] * 1e3:.1f} ms, PyTorch {step['torch_step_seconds'] * 1e3:.1f} ms "
        f"(malloc {step['torch_malloc']}) and {default['torch_step_seconds'] * 1e3:.1f} ms (malloc default) a step",
        f"engine {engine_mib:.1f} MiB, PyTorch {torch_mib:.1f} MiB of live tensors at the peak",
    ]


def _blas(machine: Mapping[str, Any]) -> str:
    forced, blas = machine.get("blas_kernel_forced"), machine.get("blas")
    if not blas:
        return f"BLAS kernel of NumPy unknown: {machine.get('blas_reason')}"
    how = f"forced by OPENBLAS_CORETYPE={forced}" if forced else "not forced"
    return f"NumPy's BLAS: {blas['library']} {blas['version']}, kernel {blas['kernel']}, {how}"


def _prepare(plan: Plan, experiments: Path, results: Path) -> None:
    """Anew, too: what lies there may have been prepared by code that has changed since."""
    wanted = [needs(run) for run in plan.runs]
    for name in dict.fromkeys(name for data, _ in wanted for name in data):
        prepare.prepare_data(name, experiments, results)
    for name in dict.fromkeys(name for _, weights in wanted for name in weights):
        prepare.prepare_weights(name, experiments, results)
    prepare.prepare_kernels(results)
