"""Settings given on the Snakemake line (`--config learning_rate=1e-4`), laid over every experiment of a folder.

The changed experiments are written into a folder of their own below the results, so that each of their runs can be
redone by its id and the page says where they came from. A setting on the line and the same one in a file give one run.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pocket.bench.plan.document import read_all
from pocket.bench.plan.setting import validate
from pocket.bench.record import place


def overridden(experiments: Path, given: Mapping[str, Any], results: Path) -> Path:
    """results/experiments-<8 hex>, holding the experiments with `given` in place of what they say. Raises Mistake."""
    settings = validate(given, "--config")
    texts = {
        path.name: json.dumps(_changed(document, settings), ensure_ascii=False, indent=1)
        for path, document in read_all(experiments).items()
    }
    digest = hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()[:8]
    folder = results / f"experiments-{digest}"
    for name, text in texts.items():
        if not (folder / name).is_file():
            place(folder / name, text.encode())
    return folder


def _changed(document: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """`settings` in the base, gone from every other place that would say something else."""
    suites = {name: _without(overrides or {}, settings) for name, overrides in document["suites"].items()}
    return {**_without(document, settings), "base": {**(document.get("base") or {}), **settings}, "suites": suites}


def _without(part: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    kept = dict(part)
    for place_of, value in part.items():
        if place_of == "base":
            kept[place_of] = _left(value, settings)
        if place_of == "grid":
            axes = value if isinstance(value, list) else [value]
            kept[place_of] = [_left(each, settings) for each in axes]
        if place_of == "seeds" and "seed" in settings:
            del kept[place_of]
    return kept


def _left(part: Any, settings: Mapping[str, Any]) -> Any:
    return {name: value for name, value in part.items() if name not in settings} if isinstance(part, dict) else part
