"""Runs in which two trainers took turns: which side was faster, and whether a trainer equals itself."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

from pocket.bench.judge.collate import canonical
from pocket.bench.judge.outcome import Outcome
from pocket.bench.judge.reading import step_ratios
from pocket.bench.judge.stats import EFFECT_LEVEL, EQUALITY_LEVEL, Estimate, inside, ratio_estimate
from pocket.bench.plan.spec import sides

TRUSTED = 0.03  # the interval of a trainer against itself must lie inside 1 +- this


@dataclass(frozen=True)
class Pair:
    """One pair: complete settings of both sides, median step seconds of each, ratio a over b with its interval.

    The interval is of 90 % for a trainer against itself (equality is asked for), of 95 % otherwise.
    """

    outcome: Outcome
    a: dict[str, Any]
    b: dict[str, Any]
    a_seconds: float
    b_seconds: float
    ratio: Estimate
    level: float
    blocks: int

    @property
    def itself(self) -> bool:
        return canonical(_bare(self.a)) == canonical(_bare(self.b))

    @property
    def trusted(self) -> bool:
        """Only an interval inside 1 +- 3 % is; one quad alone has none."""
        return inside(self.ratio, 1 - TRUSTED, 1 + TRUSTED) is True


def _bare(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != "opponent"}


def pairs(found: Iterable[Outcome]) -> list[Pair]:
    """Every pair that ended well and has a complete quad of blocks."""
    measured = []
    for one in found:
        if one.kind != "pair" or not one.ok or one.record is None:
            continue
        ratios = step_ratios(one.record)
        if ratios:
            measured.append(_pair(one, ratios, one.record["values"]["blocks"]))
    return measured


def _pair(outcome: Outcome, ratios: list[float], blocks: list[Any]) -> Pair:
    a, b = sides(outcome.run.settings)
    level = EQUALITY_LEVEL if canonical(_bare(a)) == canonical(_bare(b)) else EFFECT_LEVEL
    a_seconds, b_seconds = (
        median(step for block in blocks if block["side"] == side for step in block["step_seconds"]) for side in "ab"
    )
    return Pair(outcome, a, b, a_seconds, b_seconds, ratio_estimate(ratios, level), level, len(blocks))


def decisive(measured: Iterable[Pair]) -> list[list[Pair]]:
    """Pairs of different trainers, those that differ in the opponent's allocator together, the fastest opponent first.

    The faster opponent counts: against it the ratio is the largest.
    """
    groups: dict[str, list[Pair]] = {}
    for pair in measured:
        if not pair.itself:
            opponent = {name: value for name, value in pair.b.items() if name not in ("malloc", "opponent")}
            groups.setdefault(canonical([_bare(pair.a), opponent]), []).append(pair)
    return [sorted(group, key=lambda pair: -pair.ratio.value) for group in groups.values()]
