"""The raw values that one record holds of a quantity, in the order taken; an empty list where it holds none."""

from collections.abc import Callable, Mapping
from itertools import islice
from statistics import median
from typing import Any

Record = Mapping[str, Any]
Read = Callable[[Record], list[float]]


def _timed(record: Record) -> list[tuple[int, float]]:
    """(samples, data + transfer + compute seconds) of each update after warm-up."""
    updates = record["values"]["updates"]
    names = ("samples", "data_seconds", "transfer_seconds", "compute_seconds")
    rows = islice(zip(*(updates[name] for name in names), strict=True), updates["warmup"], None)
    return [(row[0], sum(row[1:])) for row in rows if None not in row]


def step_seconds(record: Record) -> list[float]:
    return [seconds for _, seconds in _timed(record)]


def samples_per_second(record: Record) -> list[float]:
    return [samples / seconds for samples, seconds in _timed(record) if seconds > 0]


def last_epoch(record: Record) -> Mapping[str, Any]:
    epochs = record["values"].get("epochs") or [{}]
    return epochs[-1]


def _share(record: Record, part: str, whole: str) -> list[float]:
    epoch = last_epoch(record)
    if epoch.get(part) is None or not epoch.get(whole):
        return []
    return [epoch[part] / epoch[whole]]


def accuracy(record: Record) -> list[float]:
    return _share(record, "correct", "total")


def test_loss(record: Record) -> list[float]:
    return _share(record, "loss_sum", "total") or _share(record, "squared_error_sum", "total")


def r2(record: Record) -> list[float]:
    return [1 - share for share in _share(record, "squared_error_sum", "target_square_sum")]


def final_loss(record: Record) -> list[float]:
    """Training loss of the last epoch: the mean of its updates, weighted by their samples."""
    updates, epochs = record["values"]["updates"], record["values"].get("epochs") or []
    first = epochs[-2]["updates"] if len(epochs) > 1 else 0
    losses, samples = updates["loss"][first:], updates["samples"][first:]
    if not losses or None in losses:
        return []
    return [sum(loss * n for loss, n in zip(losses, samples, strict=True)) / sum(samples)]


def step_ratios(record: Record) -> list[float]:
    """Seconds of side a over those of side b, one value for each complete ABBA quad of blocks.

    Within a quad each side's value is the median of its steps; a linear drift of the machine cancels.
    """
    blocks = record["values"]["blocks"]
    ratios = []
    for start in range(0, len(blocks) - len(blocks) % 4, 4):
        quad = blocks[start : start + 4]
        sides = {side: [s for block in quad if block["side"] == side for s in block["step_seconds"]] for side in "ab"}
        if all(sides.values()) and median(sides["b"]) > 0:
            ratios.append(median(sides["a"]) / median(sides["b"]))
    return ratios


def _one(number: float | None) -> list[float]:
    return [] if number is None else [float(number)]


def memory(name: str) -> Read:
    return lambda record: _one((record["values"].get("memory") or {}).get(name))


def value(name: str) -> Read:
    return lambda record: _one(record["values"].get(name))
