"""The data of a plot -> a figure: axes with units, error bars, gaps where a number cannot be drawn."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pocket.bench.draw.drawable import finite, gap_note, is_log, values
from pocket.bench.draw.marks import bars, lines
from pocket.bench.draw.palette import GRID, INK, STYLE
from pocket.bench.page.unit import GIB, MIB, SHOWN

Data = Mapping[str, Any]

WIDTH, HEIGHT, ROW = 5.6, 3.1, 0.19  # inches; the legend adds its rows
NOTES, NOTE_LENGTH = 3, 90  # the page lists all of them whole
FROM_ZERO = ("bytes", "s", "1/s")


def draw(data: Data) -> Figure:
    """A figure of its own, not registered with pyplot: there is no window, no display and nothing to close."""
    with mpl.rc_context(STYLE):
        columns, legend_rows = _legend(data)
        figure = Figure(figsize=(WIDTH, HEIGHT + ROW * legend_rows), layout="constrained")
        axes = figure.add_subplot()
        divisor, unit = _unit(data)
        log = is_log(data)
        if not finite(data):
            axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", va="center", fontsize=12)
            axes.set(xticks=[], yticks=[])
        elif data["kind"] == "bars":
            bars(axes, data, divisor, log)
        else:
            lines(axes, data, divisor, log)
        _label(axes, data, unit)
        _scale(axes, data, log)
        if finite(data) and any(series["key"] for series in data["series"]):
            figure.legend(loc="outside upper left", ncols=columns, handlelength=2.6)
        gaps = [note for series in data["series"] for note in gap_note(series, values(series, divisor, log), log)]
        _write_notes(figure, [*data["notes"], *gaps])
    return figure


def _legend(data: Data) -> tuple[int, int]:
    """(columns, rows): as many columns as the longest name leaves room for."""
    longest = max((len(series["name"]) for series in data["series"]), default=1)
    columns = 3 if longest < 18 else 2 if longest < 34 else 1
    return columns, math.ceil(len(data["series"]) / columns)


def _unit(data: Data) -> tuple[float, str]:
    unit = data["y"]["unit"]
    if unit == "bytes":
        return (GIB, "GiB") if max(finite(data), default=0) >= 4 * GIB else (MIB, "MiB")
    return SHOWN.get(unit, (1.0, unit))


def _label(axes: Axes, data: Data, unit: str) -> None:
    labels = ((data["x"]["label"], data["x"]["unit"]), (data["y"]["label"], unit))
    x, y = (f"{label}, {name}" if name else label for label, name in labels)
    axes.set(xlabel=x, ylabel=y)


def _scale(axes: Axes, data: Data, log: bool) -> None:
    if log:
        axes.set_yscale("log")
    elif finite(data) and min(finite(data)) >= 0 and (data["kind"] == "bars" or data["y"]["unit"] in FROM_ZERO):
        axes.set_ylim(bottom=0)
    axes.grid(axis="y", color=GRID, alpha=0.35, linewidth=0.5)
    if data["y"]["unit"] == "ratio" and finite(data):
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, 0.95), max(high, 1.05))  # what equals is seen, however far the ratios are from it
        axes.axhline(1.0, color=INK, linewidth=0.8, linestyle=(0, (2, 2)))


def _write_notes(figure: Figure, notes: Sequence[str]) -> None:
    if not notes:
        return
    kept = [note if len(note) < NOTE_LENGTH else note[: NOTE_LENGTH - 1] + "…" for note in notes[:NOTES]]
    if len(notes) > NOTES:
        kept.append(f"and {len(notes) - NOTES} more")
    figure.supxlabel("\n".join(kept), x=0.02, ha="left", fontsize=7.5, style="italic", gid="notes")
