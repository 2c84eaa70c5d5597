"""What of a series can be drawn: finite values in the axis's unit, lengths of error bars, notes on what is left out."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

Data = Mapping[str, Any]

LOG_RANGE = 30.0  # largest over smallest loss from which `auto` takes a logarithmic axis
LOSSES = ("loss_curve", "test_loss", "final_loss")


def finite(data: Data, positive: bool = False) -> list[float]:
    """Every value of the plot that an axis (a logarithmic one, if `positive`) has a place for."""
    values = [y for series in data["series"] for y in series["y"]]
    return [y for y in values if y is not None and math.isfinite(y) and (y > 0 or not positive)]


def is_log(data: Data) -> bool:
    """Never logarithmic without a positive value: such an axis would show a range that nothing has."""
    positive = finite(data, positive=True)
    if not positive or data["scale"] == "linear":
        return False
    if data["scale"] == "log":
        return True
    wide = max(positive) / min(positive) >= LOG_RANGE and len(positive) == len(finite(data))
    return data["y"]["name"] in LOSSES and wide


def values(series: Data, divisor: float, log: bool) -> list[float]:
    """The series' y over `divisor`, nan in place of what has no place on the axis."""
    return [y / divisor if y is not None and math.isfinite(y) and (y > 0 or not log) else math.nan for y in series["y"]]


def gap_note(series: Data, shown: Sequence[float], log: bool) -> list[str]:
    """Numbers that are shown as gaps. None is a value that is not there; the data's own notes say why."""
    lost = sum(math.isnan(y) for y, given in zip(shown, series["y"], strict=True) if given is not None)
    if not lost:
        return []
    why = "not finite, zero or negative: no place on a logarithmic axis" if log else "not finite"
    return [f"{series['name']}: {lost} of {len(shown)} values {why}"]


def error_lengths(
    series: Data, shown: Sequence[float], divisor: float, log: bool
) -> tuple[list[float], list[float]] | None:
    """Lengths below and above each value; None where there is no interval at all, cut above zero on a log axis."""
    if not any(low is not None for low in series["low"]):
        return None
    below, above = [], []
    for y, low, high in zip(shown, series["low"], series["high"], strict=True):
        known = low is not None and high is not None and not math.isnan(y)
        length = max(y - low / divisor, 0.0) if known else 0.0
        below.append(min(length, y * 0.999) if log and known else length)
        above.append(max(high / divisor - y, 0.0) if known else 0.0)
    return below, above
