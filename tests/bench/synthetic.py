"""Sealed records of runs that never took place, for the tests of what stands right of a record.

Values come from fixed seeds around what two cores measure, so that tables, plots and the page look as they will.
"""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pocket.bench import record as records
from pocket.bench.draw.plot import write_plots
from pocket.bench.judge.collate import write_table
from pocket.bench.page.report import write_report
from pocket.bench.plan.spec import Plan, Run, load, sides
from pocket.bench.source import digest

BATCH_SWEEP = """
question: How do memory, speed and accuracy change with the batch?
title: Batch size
base: {model: simple_cnn, dataset: digits, resolution: 32}
grid: {kind: [train, memory], trainer: [engine, torch], batch_size: [64, 128, 256]}
suites: {quick: {}}
show:
  table:
    rows: [trainer, batch_size]
    columns: [live_peak_bytes, reserved_peak_bytes, process_peak_bytes, step_seconds, images_per_second, accuracy]
  plots:
    - {x: batch_size, y: live_peak_bytes, by: trainer, kind: bars}
    - {x: batch_size, y: step_seconds, by: trainer, kind: line}
"""

ENGINE_VS_TORCH = """
question: Does the engine train as well as PyTorch, and at what price in time and memory?
title: Engine against PyTorch
base: {model: simple_cnn, dataset: digits, resolution: 32, epochs: 2}
seeds: [0, 1, 2]
grid:
  - {kind: [train], trainer: [engine]}
  - {kind: [train], trainer: [torch], malloc: [default, raised]}
  - {kind: [memory], trainer: [engine, torch]}
  - {kind: [pair], trainer: [engine], opponent: [{trainer: torch, malloc: default}, {trainer: torch, malloc: raised}]}
suites: {quick: {}}
show:
  table:
    rows: [trainer, malloc]
    columns: [step_ratio, step_seconds, accuracy, live_peak_bytes, first_losses]
  plots:
    - {x: update, y: loss_curve, by: trainer}
    - {x: epoch, y: accuracy_curve, by: trainer}
    - {x: malloc, y: step_ratio, by: trainer, kind: bars}
    - {x: seconds, y: memory_timeline, by: trainer}
"""

AMP = """
question: What does mixed precision save?
base: {model: simple_cnn, dataset: digits, resolution: 32}
grid: {kind: [train, memory], trainer: [engine, torch], precision: [fp32, amp]}
suites: {quick: {}}
show:
  table: {rows: [trainer, precision], columns: [live_peak_bytes, step_seconds, accuracy]}
  plots:
    - {x: precision, y: live_peak_bytes, by: trainer, kind: bars}
"""

TABULAR = """
question: Does the engine learn a regression from table rows?
base: {model: mlp, dataset: tabular, epochs: 5, optimizer: adam, learning_rate: 1e-3}
grid: {kind: [train], trainer: [engine, torch]}
suites: {quick: {}}
show:
  table: {rows: [trainer], columns: [r2, test_loss, final_loss, step_seconds]}
  plots:
    - {x: epoch, y: loss_curve, by: trainer}
"""

SELF_TEST = """
question: Can timings and memory figures of this machine be trusted?
title: Self-test
base: {model: simple_cnn, dataset: digits, resolution: 32}
grid:
  - {kind: [pair], trainer: [torch], opponent: [{trainer: torch}]}
  - {kind: [allocation], trainer: [engine, torch], allocation_bytes: [268435456]}
suites: {quick: {}}
show:
  table: {rows: [kind, trainer], columns: [step_ratio, live_bytes, process_bytes]}
  plots:
    - {x: trainer, y: live_bytes, by: trainer, kind: bars}
"""

EXPERIMENTS = {
    "amp": AMP,
    "batch_sweep": BATCH_SWEEP,
    "engine_vs_torch": ENGINE_VS_TORCH,
    "self_test": SELF_TEST,
    "tabular": TABULAR,
}

MACHINE = {
    "cpu": "Synthetic CPU @ 2.00GHz",
    "cores": 2,
    "usable_cores": 2,
    "memory_bytes": 8 * 2**30,
    "os": "Synthetic GNU/Linux 1",
    "kernel": "6.1.0",
    "libc": "glibc 2.36",
    "python": "3.11.2",
    "numpy": "2.4.0",
    "torch": "2.14.1",
    "cupy": None,
    "cupy_reason": "not installed",
    "blas": {"library": "openblas", "version": "0.3.31", "kernel": "SkylakeX", "threads": 2},
    "blas_kernel_forced": None,
    "threads": 2,
    "gpu": None,
    "gpu_reason": "the run used the CPU",
}


def plan_of(folder: Path, texts: Mapping[str, str] = EXPERIMENTS) -> Plan:
    """The quick plan of experiment files written into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return load(folder, "quick", "cpu")


def write_all(plan: Plan, results: Path, changes: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    """One record for each run of the plan; `changes` maps a run id to fields to replace before it is sealed."""
    for run in plan.runs:
        write_record(run, results, (changes or {}).get(run.id))


def write_record(run: Run, results: Path, changes: Mapping[str, Any] | None = None) -> Path:
    path = records.path_of(run.id, results)
    records.write(records.seal({**body(run), **(changes or {})}), path)
    return path


def failed(status: str, reason: str) -> dict[str, Any]:
    return {"status": status, "reason": reason, "values": {}}


def body(run: Run) -> dict[str, Any]:
    settings = run.settings
    rng = np.random.default_rng(zlib.crc32(run.id.encode()))
    makers = {"train": _train, "memory": _memory, "pair": _pair, "allocation": _allocation}
    seconds = {"total": 4.2, "import": 1.7, "prepare": 0.2, "train": 1.9, "score": 0.1, "overhead": 0.3}
    if settings["trainer"] == "engine" and settings.get("precision") == "amp":
        outcome = failed("unsupported", "the engine has no mixed precision yet: precision amp is PyTorch's alone")
    else:
        values = makers[settings["kind"]](sides(settings)[0], rng)
        outcome = {"status": "ok", "reason": None, "values": values}
    return {
        "run": run.id,
        "kind": settings["kind"],
        "settings": dict(settings),
        "detail": None,
        "started": "2026-11-30T12:00:00Z",
        "seconds": seconds,
        "data": {"id": "digits-32px", "digest": "0" * 64},
        "weights": {"id": "simple_cnn-digits-he-s0", "digest": "1" * 64},
        "device": {"kind": "cpu", "name": "Synthetic CPU", "uuid": None},
        "machine": MACHINE,
        "code": digest(settings),
        **outcome,
    }


def _step(settings: Mapping[str, Any]) -> float:
    base = {"engine": 0.031, "torch": 0.034 if settings["malloc"] == "default" else 0.0235}[settings["trainer"]]
    return base * settings["batch_size"] / 64 * (0.8 if settings["precision"] == "amp" else 1.0)


def _peak(settings: Mapping[str, Any]) -> int:
    share = {"engine": 0.44, "torch": 1.0}[settings["trainer"]] * (0.6 if settings["precision"] == "amp" else 1.0)
    return int(2**20 * (9 + share * 37 * settings["batch_size"] / 64))


def _memory_numbers(settings: Mapping[str, Any]) -> dict[str, Any]:
    engine = settings["trainer"] == "engine"
    return {
        "live_peak_bytes": None,
        "live_peak_bytes_reason": "measured by runs of kind memory",
        "reserved_peak_bytes": int(_peak(settings) * 1.08) if engine else None,
        **({} if engine else {"reserved_peak_bytes_reason": "PyTorch's CPU allocator keeps no pool"}),
        "process_peak_bytes": _peak(settings) + (120 if engine else 340) * 2**20,
        "process_before_bytes": (90 if engine else 300) * 2**20,
    }


def _train(settings: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    regression = settings["dataset"] == "tabular"
    samples, test = (8000, 2000) if regression else (1437, 360)
    batch = settings["batch_size"]
    sizes = [batch] * (samples // batch) + ([samples % batch] if samples % batch else [])
    count = len(sizes) * settings["epochs"]
    decay = np.exp(-np.arange(count) / (count / 4))
    loss = (1.0 if regression else 2.3) * decay * (1 + 0.1 * rng.random(count)) + 0.02
    loss[:10] = (1.0 if regression else 2.3) * decay[:10] * (1 + 1e-7 * rng.random(min(10, count)))
    steps = _step(settings) * (1 + 0.06 * rng.random(count))
    epochs = []
    for number in range(1, settings["epochs"] + 1):
        if regression:
            score = {"squared_error_sum": test * 0.5 / number**2, "target_square_sum": test * 1.0}
        else:
            wrong = int(test * 0.07 / number * (1 + 0.6 * rng.random()))
            score = {"correct": test - wrong, "loss_sum": test * 0.3 / number}
        epochs.append({"number": number - 1, "updates": len(sizes) * number, "total": test, **score})
    updates = {
        "loss": loss.tolist(),
        "samples": sizes * settings["epochs"],
        "data_seconds": (steps * 0.03).tolist(),
        "transfer_seconds": (steps * 0.01).tolist(),
        "compute_seconds": (steps * 0.96).tolist(),
        "warmup": settings["warmup_updates"],
    }
    return {"updates": updates, "epochs": epochs, "memory": _memory_numbers(settings)}


def _memory(settings: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    peak = _peak(settings)
    rise = np.linspace(0.3, 1.0, 30) ** 0.8
    fall = np.linspace(1.0, 0.3, 40)
    live = np.concatenate([rise, fall + 0.05 * (np.arange(40) % 2)])
    timeline = [[5.0 + at * 0.0005, float(int(peak * share))] for at, share in enumerate(live)]
    numbers = {**_memory_numbers(settings), "live_peak_bytes": peak, "method": "tracemalloc", "timeline": timeline}
    del numbers["live_peak_bytes_reason"]
    return {"memory": {**numbers, "account_peak_bytes": peak if settings["trainer"] == "engine" else None}}


def _pair(settings: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    first, second = _step(settings), _step({**settings, **settings["opponent"]})
    blocks = []
    for side in "abba" * (settings["blocks"] // 2):
        steps = {"a": first, "b": second}[side] * (1 + 0.02 * rng.random(settings["updates_per_block"]))
        blocks.append({"side": side, "step_seconds": steps.tolist()})
    return {"blocks": blocks}


def _allocation(settings: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    asked = settings["allocation_bytes"]
    return {"asked_bytes": asked, "live_bytes": asked, "process_bytes": asked + int(rng.integers(1, 40)) * 4096}


def build(folder: Path, texts: Mapping[str, str] = EXPERIMENTS) -> tuple[Plan, Path]:
    """Plan, records, tables, plots and page of these experiments, below `folder`."""
    plan, results = plan_of(folder / "experiments", texts), folder / "results"
    write_all(plan, results)
    for experiment in plan.experiments:
        write_table(experiment, results)
        write_plots(experiment, results)
    write_report(plan, results)
    return plan, results
