"""Series -> lines or bars on given axes."""

import math
from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pocket.bench.draw.drawable import error_lengths, values
from pocket.bench.draw.palette import DASHES, HATCHES, INK, MARKERS, colour_of, looks
from pocket.bench.judge.curve import AXES
from pocket.bench.judge.smoothing import running_mean

Data = Mapping[str, Any]

MANY = 40  # a line with more points than this carries no markers


def lines(axes: Axes, data: Data, divisor: float, log: bool) -> None:
    """Points joined by lines; a curve's interval is a band, that of other points a bar."""
    positions = _positions(data)
    curve = data["x"]["name"] in AXES
    for series, (colour, variant) in zip(data["series"], looks(data), strict=True):
        y = values(series, divisor, log)
        x = [positions.get(at, at) for at in series["x"]]
        look = {"color": colour, "linestyle": DASHES[variant % len(DASHES)], "label": series["name"]}
        look |= _marker(y, variant) | _layer(series, curve)
        if data.get("window", 1) > 1:
            axes.plot(x, y, color=colour, linewidth=0.5, alpha=0.25)
            axes.plot(x, running_mean(y, data["window"]), **look)
            continue
        errors = error_lengths(series, y, divisor, log)
        if errors is None:
            axes.plot(x, y, **look, drawstyle=_drawstyle(data))
        elif curve:
            axes.plot(x, y, **look)
            low, high = ([b + sign * e for b, e in zip(y, errors[n], strict=True)] for n, sign in ((0, -1), (1, 1)))
            axes.fill_between(x, list(low), list(high), color=colour, alpha=0.16, linewidth=0)
        else:
            axes.errorbar(x, y, yerr=errors, capsize=3, elinewidth=0.9, **look)
    _line_ticks(axes, data, positions)


def _marker(y: list[float], variant: int) -> dict[str, Any]:
    """A line alone draws nothing for a single point."""
    if sum(not math.isnan(one) for one in y) > MANY:
        return {}
    return {"marker": MARKERS[variant % len(MARKERS)], "markersize": 5}


def _layer(series: Data, curve: bool) -> dict[str, Any]:
    """Two curves that coincide stay both visible: the engine's is thin and lies on the other's."""
    if not curve:
        return {"linewidth": 1.6}
    return {"linewidth": 1.1, "zorder": 3} if series["key"].get("trainer") == "engine" else {"linewidth": 2.6}


def _drawstyle(data: Data) -> str:
    """Live bytes change at an instant and stay until the next event."""
    return "steps-post" if data["x"]["name"] == "seconds" else "default"


def _places(data: Data) -> list[Any]:
    """Every x of the plot once: numbers sorted, names in the order of the series."""
    found = list(dict.fromkeys(at for series in data["series"] for at in series["x"]))
    return sorted(found) if all(isinstance(at, int | float) for at in found) else found


def _positions(data: Data) -> dict[Any, float]:
    """Places of names on the axis; numbers stand where they are."""
    places = _places(data)
    if all(isinstance(at, int | float) for at in places):
        return {}
    return {at: float(position) for position, at in enumerate(places)}


def _line_ticks(axes: Axes, data: Data, positions: Mapping[Any, float]) -> None:
    if data["x"]["name"] in AXES:
        axes.margins(x=0.02)
        if data["x"]["name"] != "seconds":
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    elif positions:
        axes.set_xticks(list(positions.values()), [str(at) for at in positions])
        axes.margins(x=0.15)
    else:
        places = _places(data)
        if len(places) > 1 and places[0] > 0 and places[-1] / places[0] >= 3:
            axes.set_xscale("log", base=2)
        axes.set_xticks(places, [_tick(at) for at in places])
        axes.minorticks_off()
        axes.margins(x=0.08)


def _tick(at: Any) -> str:
    return f"{at:g}" if isinstance(at, int | float) else str(at)


def bars(axes: Axes, data: Data, divisor: float, log: bool) -> None:
    """Groups of bars from zero, as many in a group as there are values; a cross stands where a bar is missing."""
    places = _places(data)
    groups = {at: [n for n, series in enumerate(data["series"]) if at in series["x"]] for at in places}
    width = min(0.8 / max(map(len, groups.values())), 0.4)
    for number, (series, (colour, variant)) in enumerate(zip(data["series"], looks(data), strict=True)):
        y = values(series, divisor, log)
        x = [places.index(at) + width * _offset(groups[at], number) for at in series["x"]]
        colours = [colour_of(key) for key in series["trainers"]] if "trainers" in series else [colour] * len(x)
        gone = [at for at, value in zip(x, y, strict=True) if math.isnan(value)]
        axes.plot(gone, [0.03] * len(gone), "x", color=colour, transform=axes.get_xaxis_transform())
        axes.bar(
            *(x, y, width * 0.92),
            yerr=error_lengths(series, y, divisor, log),
            label=series["name"],
            color=colours if variant == 0 else "none",
            edgecolor=colours,
            hatch=HATCHES[variant % len(HATCHES)],
            linewidth=0.9,
            error_kw={"ecolor": INK, "elinewidth": 0.9, "capsize": 3},
        )
    axes.set_xticks(range(len(places)), [_tick(at) for at in places])
    axes.set_xlim(-0.6, len(places) - 0.4)


def _offset(group: list[int], number: int) -> float:
    """Place of a bar beside the middle of its group, in widths of a bar."""
    return group.index(number) + 0.5 - len(group) / 2
