"""The curves that plots show: points (x, y) of one record, or of several joined point by point."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pocket.bench.judge import stats

Record = Mapping[str, Any]
Points = list[tuple[float, float | None]]  # None: the record has no finite value there

FIRST = 10
AXES = ("update", "epoch", "seconds")  # what the x of a curve may be


@dataclass(frozen=True)
class Curve:
    """`axes` maps the names that `x` may take to the function which reads the points of one record."""

    name: str
    label: str
    unit: str
    kind: str
    axes: Mapping[str, Callable[[Record], Points]]
    spread: str = "mean over seeds, band: 95 % interval"


def _losses(record: Record) -> Points:
    return list(enumerate(record["values"]["updates"]["loss"], 1))


def _epoch_losses(record: Record) -> Points:
    """Mean training loss of each epoch, weighted by samples, over epochs done; None where a loss is not finite."""
    updates, points, start = record["values"]["updates"], [], 0
    for epoch in record["values"]["epochs"]:
        losses, samples = (updates[name][start : epoch["updates"]] for name in ("loss", "samples"))
        whole = losses and None not in losses
        mean = sum(a * n for a, n in zip(losses, samples, strict=True)) / sum(samples) if whole else None
        points.append((epoch["number"] + 1, mean))
        start = epoch["updates"]
    return points


def _share(part: str) -> Callable[[Record], Points]:
    def read(record: Record) -> Points:
        epochs = record["values"]["epochs"]
        scores = (e[part] / e["total"] if e.get(part) is not None and e["total"] else None for e in epochs)
        return [(epoch["number"] + 1, score) for epoch, score in zip(epochs, scores, strict=True)]

    return read


def _timeline(record: Record) -> Points:
    """Live bytes over one update, from 0 to 100 % of its time: the probes slow the two trainers unlike."""
    timeline = record["values"]["memory"]["timeline"] or []
    if not timeline:
        return []
    start, length = timeline[0][0], timeline[-1][0] - timeline[0][0]
    return [((seconds - start) / length * 100 if length else 0.0, live) for seconds, live in timeline]


def _first_losses(record: Record) -> Points:
    return _losses(record)[:FIRST]


CURVES = {
    curve.name: curve
    for curve in (
        Curve("loss_curve", "training loss", "", "train", {"update": _losses, "epoch": _epoch_losses}),
        Curve("accuracy_curve", "test accuracy", "fraction", "train", {"epoch": _share("correct")}),
        Curve("first_losses", "training loss", "", "train", {"update": _first_losses}),
        Curve(
            "memory_timeline",
            "live bytes",
            "bytes",
            "memory",
            {"seconds": _timeline},
            "one update; not to the clock, since measuring slows it",
        ),
    )
}


def mean_curve(curves: Sequence[Points]) -> list[tuple[float, stats.Estimate | None]]:
    """Join the curves of several seeds: at each x the mean of those that reach it, with its 95 % interval.

    Where one of them has no finite value the joined point is a gap: a mean over the rest would hide a divergence.
    """
    columns: dict[float, list[float | None]] = {}
    for curve in curves:
        for x, y in curve:
            columns.setdefault(x, []).append(y)
    joined: list[tuple[float, stats.Estimate | None]] = []
    for x, ys in sorted(columns.items()):
        finite = [y for y in ys if y is not None]
        joined.append((x, stats.mean_estimate(finite) if len(finite) == len(ys) else None))
    return joined
