"""What a run reads: its prepared data set and its initial weights, where they lie and which they are."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pocket.bench.plan.identity import data_id, sides, weights_id
from pocket.mistake import Mistake


def paths(settings: Mapping[str, Any], results: Path) -> dict[str, str]:
    """`data` and `weights` of one side, as paths."""
    folder = results / "data" / data_id(settings)
    return {"data": str(folder), "weights": str(results / "weights" / f"{weights_id(settings)}.npz")}


def check(settings: Mapping[str, Any], results: Path) -> None:
    """Raise Mistake when something that a run of these settings reads was not prepared."""
    if settings["kind"] == "allocation":
        return
    for side in sides(settings):
        for command, path in paths(side, results).items():
            if not Path(path).exists():
                raise Mistake(
                    f"{path} is missing; prepare it: pocket bench {command} {Path(path).name.removesuffix('.npz')}"
                )


def described(settings: Mapping[str, Any], results: Path) -> dict[str, Any]:
    """`data` and `weights` as a record names them: {"id", "digest"}, or None where the run reads neither.

    `data` has `notes` too: what a reader of the run's numbers must know of its samples. The data's digest is the one
    made when they were prepared, the weights' is the SHA-256 of their file; None where there is no such file. Both
    sides of a pair are described by the first.
    """
    if settings["kind"] == "allocation":
        return {"data": None, "weights": None}
    side = sides(settings)[0]
    found = {name: Path(path) for name, path in paths(side, results).items()}
    return {
        "data": {"id": data_id(side), "digest": _meta(found["data"]).get("digest"), "notes": notes(side, results)},
        "weights": {"id": weights_id(side), "digest": _file_digest(found["weights"])},
    }


def notes(settings: Mapping[str, Any], results: Path) -> list[str]:
    """What becomes of samples that do not fill a batch, what preparing left out, and what the data set itself says."""
    if settings["kind"] == "allocation":
        return []
    meta = _meta(Path(paths(settings, results)["data"]))
    skipped = [f"{len(meta['skipped'])} unreadable pictures were left out"] if meta.get("skipped") else []
    return _last_batch(settings, meta.get("train_samples", 0)) + skipped + list(meta.get("notes", []))


def _last_batch(settings: Mapping[str, Any], samples: int) -> list[str]:
    """Nothing to say where every batch is full."""
    if samples % settings["batch_size"] == 0:
        return []
    from pocket.data import describe_last_batch  # brings NumPy, while the worker imports its library

    try:
        sizes = settings["batch_size"], settings["accumulation_steps"]
        return [describe_last_batch(samples, *sizes, settings["last_batch"], smallest_map=None)]
    except Mistake:
        return []  # the worker refuses the run, with the reason


def _meta(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _file_digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
