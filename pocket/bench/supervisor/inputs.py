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

    The data's digest is the one made when they were prepared, the weights' is the SHA-256 of their file; None where
    there is no such file. Both sides of a pair are described by the first.
    """
    if settings["kind"] == "allocation":
        return {"data": None, "weights": None}
    side = sides(settings)[0]
    found = {name: Path(path) for name, path in paths(side, results).items()}
    return {
        "data": {"id": data_id(side), "digest": _data_digest(found["data"])},
        "weights": {"id": weights_id(side), "digest": _file_digest(found["weights"])},
    }


def _data_digest(folder: Path) -> str | None:
    try:
        return json.loads((folder / "meta.json").read_text(encoding="utf-8"))["digest"]
    except (OSError, ValueError, KeyError):
        return None


def _file_digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
