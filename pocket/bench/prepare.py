"""What runs need before they start: prepared data, initial weights, translated kernels. Each is made once."""

import io
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pocket.bench.plan.identity import data_id, weights_id
from pocket.bench.plan.nearest import unknown
from pocket.bench.plan.spec import Run, every_plan, needs, sides
from pocket.bench.source import data as data_code
from pocket.bench.source import digest_of
from pocket.bench.source import weights as weights_code
from pocket.mistake import Mistake


def prepare_data(name: str, experiments: Path, results: Path) -> None:
    """Write results/data/<name>/ for the settings whose data id is `name`. Raises Mistake."""
    from pocket.bench.record import place
    from pocket.data import prepare

    side = _side_that_needs(name, experiments, "data")
    (results / "data").mkdir(parents=True, exist_ok=True)
    prepare(
        side["dataset"],
        side["resolution"],
        side["train_samples"],
        side["test_samples"],
        results / "data" / name,
    )
    place(_stamp_of_data(name, results), data_code().encode("ascii"))


def prepare_weights(name: str, experiments: Path, results: Path) -> None:
    """Write results/weights/<name>.npz, both trainers' initial weights, from the shape of the prepared data."""
    import numpy as np

    from pocket.bench.measure.trainers import initial_weights
    from pocket.bench.record import place
    from pocket.data import load

    side = _side_that_needs(name, experiments, "weights")
    data = load(results / "data" / data_id(side))
    wanted = (side["model"], data.input_shape, data.outputs, side["width"], side["initialisation"], side["seed"])
    try:
        weights = initial_weights(*wanted)
    except ValueError as error:
        raise Mistake(f"weights {name}: {error}") from None
    content = io.BytesIO()
    np.savez(content, **weights)  # type: ignore[arg-type]
    place(results / "weights" / f"{name}.npz", content.getvalue())
    place(_stamp_of_weights(name, results), weights_code().encode("ascii"))


def ensure_inputs(run: Run, experiments: Path, results: Path) -> None:
    """Before a run: prepare its data and draw its weights anew where the code that made them has changed since.

    What is missing is left to the workflow. No rule of it does this: one that waits to be redone holds back all that
    stands right of it, the removed records of `refresh` with it. Raises Mistake.
    """
    data, weights = needs(run)
    for name in data:
        if (results / "data" / name).is_dir() and _read(_stamp_of_data(name, results)) != data_code():
            prepare_data(name, experiments, results)
    for name in weights:
        if (results / "weights" / f"{name}.npz").is_file() and _read(
            _stamp_of_weights(name, results)
        ) != weights_code():
            prepare_weights(name, experiments, results)


def _stamp_of_data(name: str, results: Path) -> Path:
    return results / "data" / name / "code"


def _stamp_of_weights(name: str, results: Path) -> Path:
    return results / "weights" / f"{name}.code"


def _read(stamp: Path) -> str | None:
    try:
        return stamp.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None


def prepare_kernels(results: Path) -> None:
    """Translate the engine's kernels, so that no timed run does, and write which they are to results/kernels.json."""
    from pocket.bench.measure.trainers import translate_kernels
    from pocket.bench.record import place

    start = time.perf_counter()
    translate_kernels()
    taken = {"digest": digest_of("engine/kernels"), "seconds": time.perf_counter() - start}
    place(results / "kernels.json", json.dumps(taken).encode())


def ensure_kernels(settings: Mapping[str, Any], results: Path) -> None:
    """Before a run of the engine: translate its kernels, in a process of their own, unless that was done as they stand.

    No rule of the workflow does this: a changed kernel would make all that stands right of a record wait for it.
    """
    if settings["kind"] == "allocation" or not any(side["trainer"] == "engine" for side in sides(settings)):
        return
    try:
        done = json.loads((results / "kernels.json").read_text(encoding="utf-8"))["digest"]
    except (OSError, ValueError, KeyError):
        done = None
    if done != digest_of("engine/kernels"):
        command = [sys.executable, "-m", "pocket.bench", "kernels", "--results", str(results)]
        subprocess.run(command, check=False)  # a kernel that cannot be translated fails in the run, which records why


def _side_that_needs(name: str, experiments: Path, what: str) -> dict[str, Any]:
    known: dict[str, dict[str, Any]] = {}
    for plan in every_plan(experiments):
        for run in plan.runs:
            if any(needs(run)):
                known |= {(data_id if what == "data" else weights_id)(side): side for side in sides(run.settings)}
        if name in known:
            return known[name]
    raise Mistake(unknown(f"{what} id", name, known, str(experiments)))
