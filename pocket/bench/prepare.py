"""What runs need before they start: prepared data, initial weights, translated kernels. Each is made once."""

import io
import json
import time
from pathlib import Path
from typing import Any

from pocket.bench.plan.identity import data_id, weights_id
from pocket.bench.plan.nearest import unknown
from pocket.bench.plan.spec import every_plan, needs, sides
from pocket.mistake import Mistake


def prepare_data(name: str, experiments: Path, results: Path) -> None:
    """Write results/data/<name>/ for the settings whose data id is `name`. Raises Mistake."""
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


def prepare_weights(name: str, experiments: Path, results: Path) -> None:
    """Write results/weights/<name>.npz, both trainers' initial weights, from the shape of the prepared data."""
    import numpy as np

    from pocket.bench.measure.trainers import initial_weights
    from pocket.bench.record import place
    from pocket.data import load

    side = _side_that_needs(name, experiments, "weights")
    data = load(results / "data" / data_id(side))
    weights = initial_weights(
        side["model"], data.input_shape, data.outputs, side["width"], side["initialisation"], side["seed"]
    )
    content = io.BytesIO()
    np.savez(content, **weights)  # type: ignore[arg-type]
    place(results / "weights" / f"{name}.npz", content.getvalue())


def prepare_kernels(results: Path) -> None:
    """Translate the engine's kernels, so that no timed run does, and write results/kernels.json with the seconds."""
    from pocket.bench.measure.trainers import translate_kernels
    from pocket.bench.record import place

    start = time.perf_counter()
    translate_kernels()
    taken = {"seconds": time.perf_counter() - start}
    place(results / "kernels.json", json.dumps(taken).encode())


def _side_that_needs(name: str, experiments: Path, what: str) -> dict[str, Any]:
    known: dict[str, dict[str, Any]] = {}
    for plan in every_plan(experiments):
        for run in plan.runs:
            if any(needs(run)):
                known |= {(data_id if what == "data" else weights_id)(side): side for side in sides(run.settings)}
        if name in known:
            return known[name]
    raise Mistake(unknown(f"{what} id", name, known, str(experiments)))
