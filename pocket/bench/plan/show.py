"""What an experiment shows: its table's rows and columns and its plots, by names that are checked before any run."""

from collections.abc import Mapping
from typing import Any

from pocket.bench.plan.nearest import unknown
from pocket.bench.plan.setting import SETTINGS
from pocket.mistake import Mistake

NUMBERS = (
    "step_seconds",
    "images_per_second",
    "accuracy",
    "test_loss",
    "r2",
    "final_loss",
    "live_peak_bytes",
    "reserved_peak_bytes",
    "process_peak_bytes",
    "step_ratio",
    "live_bytes",
    "process_bytes",
)
CURVES = ("loss_curve", "accuracy_curve", "memory_timeline")
QUANTITIES = (*NUMBERS, *CURVES, "first_losses")
AXES = ("update", "epoch", "seconds")  # what a curve may be drawn over
_PLOT_KEYS = ("x", "y", "by", "kind", "scale")
_PLOT_KINDS = ("line", "bars")
_SCALES = ("auto", "linear", "log")


def validate_show(show: Any, where: str) -> dict[str, Any]:
    """{"table": {"rows", "columns"}, "plots": [{"x", "y", "by", "kind", "scale"}]}. Raises Mistake."""
    _check_keys(show, ("table", "plots"), where)
    table = show.get("table") or {}
    _check_keys(table, ("rows", "columns"), f"{where}.table")
    plots = show.get("plots") or []
    if not isinstance(plots, list):
        raise Mistake(f"{where}.plots is {plots!r}; wanted a list of plots")
    return {
        "table": {
            "rows": _names(table.get("rows"), "setting", SETTINGS, f"{where}.table.rows"),
            "columns": _names(table.get("columns"), "quantity", QUANTITIES, f"{where}.table.columns"),
        },
        "plots": [_plot(plot, f"{where}.plots[{n}]") for n, plot in enumerate(plots, 1)],
    }


def _plot(plot: Any, where: str) -> dict[str, Any]:
    _check_keys(plot, _PLOT_KEYS, where)
    missing = [key for key in ("x", "y") if key not in plot]
    if missing:
        raise Mistake(f"{where} lacks {' and '.join(missing)}; wanted {{x: setting or axis, y: quantity}}")
    y = _one(plot["y"], "quantity", (*NUMBERS, *CURVES), f"{where}.y")
    axes = AXES if y in CURVES else SETTINGS
    by = plot.get("by", "trainer")
    return {
        "x": _one(plot["x"], "axis" if y in CURVES else "setting", axes, f"{where}.x"),
        "y": y,
        "by": _names(by if isinstance(by, list) else [by], "setting", SETTINGS, f"{where}.by"),
        "kind": _one(plot.get("kind", "line"), "kind", _PLOT_KINDS, f"{where}.kind"),
        "scale": _one(plot.get("scale", "auto"), "scale", _SCALES, f"{where}.scale"),
    }


def _check_keys(given: Any, known: tuple[str, ...], where: str) -> None:
    if not isinstance(given, Mapping):
        raise Mistake(f"{where} is {given!r}; wanted names and values: {', '.join(known)}")
    for name in given:
        if name not in known:
            raise Mistake(unknown("key", name, known, where))


def _names(given: Any, what: str, known: Any, where: str) -> list[str]:
    if not isinstance(given, list) or not given:
        raise Mistake(f"{where} is {given!r}; wanted a list of names, each a {what}")
    return [_one(name, what, known, where) for name in given]


def _one(given: Any, what: str, known: Any, where: str) -> str:
    if not isinstance(given, str) or given not in known:
        raise Mistake(unknown(what, given, known, where))
    return given
