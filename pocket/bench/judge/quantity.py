"""The numbers that tables and plots show: which records hold them, how raw values become one value with its spread."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pocket.bench.judge import reading, stats
from pocket.bench.judge.reading import Read, Record
from pocket.bench.judge.stats import Estimate


@dataclass(frozen=True)
class Quantity:
    """One number of a table.

    `kinds` are the kinds of run that measure it, the best first. `read` gives the raw values of one record, an empty
    list where it has none. `estimate` makes one value of all runs' raw values; `spread` names its interval.
    """

    name: str
    label: str
    unit: str
    kinds: tuple[str, ...]
    read: Read
    estimate: Callable[[Sequence[float]], Estimate]
    spread: str
    meaning: str


def absence(quantity: Quantity, record: Record) -> str:
    """The reason that a record gives for a value it does not have; empty where it gives none."""
    values = record["values"]
    for place in (values.get("memory") or {}, reading.last_epoch(record) if "epochs" in values else {}, values):
        reason = place.get(f"{quantity.name}_reason")
        if reason:
            return str(reason)
    return ""


SEEDS = "mean over seeds, 95 % interval"
UPDATES = "median over updates, quartiles"
PEAKS = "median over runs, smallest and largest"
QUADS = "median over ABBA quads, 95 % interval"

_TRAIN, _PEAK, _LIVE, _KNOWN = ("train",), ("train", "memory"), ("memory", "train"), ("allocation",)


def _timed(name: str, label: str, unit: str, read: Read, meaning: str) -> Quantity:
    return Quantity(name, label, unit, _TRAIN, read, stats.spread_estimate, UPDATES, meaning)


def _scored(name: str, label: str, unit: str, read: Read, meaning: str) -> Quantity:
    return Quantity(name, label, unit, _TRAIN, read, stats.mean_estimate, SEEDS, meaning)


def _peak(name: str, label: str, kinds: tuple[str, ...], read: Read, meaning: str) -> Quantity:
    return Quantity(name, label, "bytes", kinds, read, stats.range_estimate, PEAKS, meaning)


_ALL = (
    _timed(
        "step_seconds", "step time", "s", reading.step_seconds, "one optimizer update after warm-up, loading included"
    ),
    _timed("images_per_second", "throughput", "1/s", reading.samples_per_second, "an update's samples by its seconds"),
    _scored(
        "accuracy", "test accuracy", "fraction", reading.accuracy, "share of test samples right after the last epoch"
    ),
    _scored(
        "test_loss", "test loss", "", reading.test_loss, "cross-entropy or squared error a test sample, last epoch"
    ),
    _scored("r2", "R²", "", reading.r2, "1 - squared error over the targets' squared deviations, test split"),
    _scored("final_loss", "training loss", "", reading.final_loss, "mean over the samples of the last epoch"),
    _peak(
        "live_peak_bytes",
        "live peak",
        _LIVE,
        reading.memory("live_peak_bytes"),
        "tensors alive at once, at the highest",
    ),
    _peak(
        "reserved_peak_bytes", "reserved peak", _PEAK, reading.memory("reserved_peak_bytes"), "held by the allocator"
    ),
    _peak("process_peak_bytes", "process peak", _PEAK, reading.memory("process_peak_bytes"), "charged to the process"),
    Quantity(
        *("step_ratio", "step ratio, first / opponent", "ratio", ("pair",)),
        *(reading.step_ratios, stats.ratio_estimate, QUADS),
        meaning="the first trainer's step seconds over its opponent's, in turns: below 1 the first is faster",
    ),
    _peak("live_bytes", "live found", _KNOWN, reading.value("live_bytes"), "found by the live measurement"),
    _peak("process_bytes", "process found", _KNOWN, reading.value("process_bytes"), "found by the process measurement"),
)

QUANTITIES = {quantity.name: quantity for quantity in _ALL}
