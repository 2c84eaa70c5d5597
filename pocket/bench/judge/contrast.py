"""The two trainers' scores side by side, paired by seed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pocket.bench.judge.collate import canonical
from pocket.bench.judge.outcome import Outcome
from pocket.bench.judge.quantity import QUANTITIES
from pocket.bench.judge.stats import EQUALITY_LEVEL, Estimate, mean_estimate, paired_difference

# Settings that only say how a trainer is run, not what is trained.
HOW = ("trainer", "malloc", "memory_format", "seed", "repeat", "time_limit_seconds", "threads")


@dataclass(frozen=True)
class Contrast:
    """engine - torch of one quantity for one thing trained, that of `settings`; the 90 % interval asks for equality."""

    quantity: str
    settings: Mapping[str, Any]
    engine: Estimate
    torch: Estimate
    difference: Estimate


def things(found: Iterable[Outcome], kind: str) -> int:
    """How many different things the planned runs of a kind train, by whichever trainer."""
    return len({canonical(_what(one)) for one in found if one.kind == kind})


def _what(one: Outcome) -> dict[str, Any]:
    return {key: value for key, value in one.run.settings.items() if key not in HOW}


def contrasts(found: Iterable[Outcome], name: str) -> list[Contrast]:
    """One contrast for each thing that both trainers trained with at least one seed in common."""
    groups: dict[str, tuple[dict[str, Any], dict[str, dict[int, float]]]] = {}
    for one in found:
        if one.kind != "train" or not one.ok or one.record is None:
            continue
        values = QUANTITIES[name].read(one.record)
        what = _what(one)
        trainers = groups.setdefault(canonical(what), (what, {}))[1]
        if values:
            seeds = trainers.setdefault(one.run.settings["trainer"], {})
            seeds.setdefault(one.run.settings["seed"], values[0])  # another allocator trains the same numbers
    made = (_contrast(name, what, trainers) for what, trainers in groups.values())
    return [one for one in made if one is not None]


def _contrast(name: str, what: Mapping[str, Any], trainers: Mapping[str, Mapping[int, float]]) -> Contrast | None:
    engine, torch = trainers.get("engine", {}), trainers.get("torch", {})
    difference = paired_difference(engine, torch, EQUALITY_LEVEL)
    if difference is None:
        return None
    shared = engine.keys() & torch.keys()
    first, second = (mean_estimate([side[seed] for seed in sorted(shared)]) for side in (engine, torch))
    return Contrast(name, what, first, second, difference)
