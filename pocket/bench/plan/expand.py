"""From one experiment file to its runs in one suite: base, crossed with the grid and the seeds."""

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pocket.bench.plan.consistent import check_together
from pocket.bench.plan.identity import Run, canonical, run_id
from pocket.bench.plan.nearest import unknown
from pocket.bench.plan.setting import SETTINGS, validate
from pocket.mistake import Mistake


def expand(document: Mapping[str, Any], suite: str, device: str, path: Path) -> tuple[Run, ...]:
    """The runs of an experiment, each once, in the order of the file. Raises Mistake.

    A suite's `base` is laid over the file's; its `grid` and its `seeds` replace the file's.
    """
    overrides = document["suites"][suite] or {}
    base = _settings(document.get("base"), f"{path}: base")
    base |= _settings(overrides.get("base"), f"{path}: suites.{suite}.base")
    grid, grid_place = _either(document, overrides, "grid", {}, f"{path}: ", suite)
    seeds, seeds_place = _either(document, overrides, "seeds", None, f"{path}: ", suite)
    if seeds is not None and "seed" in base:
        raise Mistake(f"{path}: base.seed and seeds both say which seed; keep one of them")
    base.setdefault("device", "auto")
    runs: dict[str, Run] = {}
    for settings in _crossed(base, _axis("seed", seeds, seeds_place) if seeds is not None else None, grid, grid_place):
        settings["device"] = device if settings["device"] == "auto" else settings["device"]
        kept = canonical(check_together(settings, str(path)))
        runs.setdefault(run_id(kept), Run(run_id(kept), kept))
    return tuple(runs.values())


def _either(document: Mapping, overrides: Mapping, key: str, default: Any, place: str, suite: str) -> tuple[Any, str]:
    if key in overrides:
        return overrides[key], f"{place}suites.{suite}.{key}"
    return document.get(key, default), f"{place}{key}"


def _crossed(base: Mapping, seeds: list[int] | None, grid: Any, place: str) -> Iterator[dict[str, Any]]:
    parts = grid if isinstance(grid, list) and grid else [grid]
    for number, part in enumerate(parts, 1):
        where = f"{place}[{number}]" if len(parts) > 1 else place
        axes = {name: _axis(name, values, where) for name, values in _names_and_values(part, where).items()}
        if seeds is not None:
            axes = {"seed": seeds} | axes
        for combination in itertools.product(*axes.values()):
            yield {**base, **dict(zip(axes, combination, strict=True))}


def _axis(name: str, values: Any, where: str) -> list[Any]:
    if name not in SETTINGS:
        raise Mistake(unknown("setting", name, SETTINGS, where))
    if not isinstance(values, list) or not values:
        raise Mistake(f"{where}: {name} is {values!r}; wanted a list of values, such as [64, 128]")
    return [validate({name: value}, where)[name] for value in values]


def _settings(given: Any, where: str) -> dict[str, Any]:
    return validate(_names_and_values(given, where), where)


def _names_and_values(given: Any, where: str) -> dict[str, Any]:
    if given is not None and not isinstance(given, dict):
        raise Mistake(f"{where} is {given!r}; wanted names and values")
    return given or {}
