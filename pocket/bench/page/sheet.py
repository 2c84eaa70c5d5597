"""Tables as the page shows them: plain data for the template, every number already written in its unit."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pocket.bench.judge.collate import Cell, Row, setting_text, table, table_names
from pocket.bench.judge.curve import CURVES
from pocket.bench.judge.outcome import Outcome, count
from pocket.bench.judge.quantity import PEAKS, QUANTITIES, SEEDS, Quantity
from pocket.bench.judge.stats import Estimate
from pocket.bench.page.unit import GIB, MIB, SHOWN, setting_label, setting_value, setting_words, shown
from pocket.bench.plan.spec import Experiment

Sheet = dict[str, Any]

GIB_FROM = 4 * GIB


def column(label: str, number: bool = False, unit: str = "", title: str = "") -> Sheet:
    return {"label": label, "number": number, "unit": unit, "title": title}


_PLAIN = {"number": False, "title": "", "trainer": "", "chips": (), "code": False, "detail": "", "short": False}


def text_cell(name: str, text: str, **more: Any) -> Sheet:
    """A cell of words: `name` says which for `verify`, `sort` is what it sorts by, the rest how it looks."""
    return {**_PLAIN, "name": name, "text": text, "sort": text, **more}


def number_cell(name: str, value: float | None, text: str, **more: Any) -> Sheet:
    return text_cell(name, text, **{"sort": "" if value is None else repr(value), "number": True, **more})


def sheet(name: str, columns: Sequence[Sheet], rows: Iterable[Sheet], caption: str = "", title: str = "") -> Sheet:
    whole = {"name": name, "columns": list(columns), "rows": list(rows), "caption": caption, "title": title}
    return whole | {"closing": "", "failed": False}


def closed(whole: Sheet, closing: str, failed: bool) -> Sheet:
    """The sheet with a line below it that judges its rows."""
    return whole | {"closing": closing, "failed": failed}


def experiment_sheet(experiment: Experiment, found: Mapping[str, Outcome]) -> Sheet:
    """The experiment's table: settings, the state of the runs, and a cell a quantity."""
    names, quantities = table_names(experiment)
    rows = table(experiment, found)
    units = {name: _column_unit(QUANTITIES[name], rows) for name in quantities}
    columns = [column(setting_label(name)) for name in names]
    columns.append(column("runs"))
    columns += [
        column(QUANTITIES[name].label, True, units[name][1], f"{QUANTITIES[name].meaning}; {QUANTITIES[name].spread}")
        for name in quantities
    ]
    body = [_row(row, names, quantities, units) for row in rows]
    return sheet(f"table {experiment.name}", columns, body, _spreads(quantities, rows))


ALONE = {SEEDS: "one seed", CURVES["loss_curve"].spread: "one seed", PEAKS: "one run"}


def spread_words(spread: str, most: int) -> str:
    """What an interval is of, or that `most` values at one place give none."""
    return ALONE.get(spread, spread) if most < 2 else spread


def _spreads(quantities: Sequence[str], rows: Sequence[Row]) -> str:
    """Which value and interval each column shows."""
    told: dict[str, list[str]] = {}
    for name in quantities:
        most = max((e.n for row in rows if (e := row.cells[name].estimate)), default=0)
        told.setdefault(spread_words(QUANTITIES[name].spread, most), []).append(QUANTITIES[name].label)
    said = "; ".join(f"{', '.join(labels)}: {spread}" for spread, labels in told.items())
    return f"{said[0].upper()}{said[1:]}." if said else ""


def _column_unit(quantity: Quantity, rows: Sequence[Row]) -> tuple[float, str]:
    """One unit for a whole column, so that its numbers can be compared by eye."""
    values = [row.cells[quantity.name].estimate for row in rows]
    largest = max((estimate.value for estimate in values if estimate), default=0.0)
    if quantity.unit == "bytes":
        return (GIB, "GiB") if largest >= GIB_FROM else (MIB, "MiB")
    return SHOWN.get(quantity.unit, (1.0, quantity.unit))


def _row(row: Row, names: Sequence[str], quantities: Sequence[str], units: Mapping[str, tuple[float, str]]) -> Sheet:
    cells = [_setting_cell(name, row) for name in names]
    cells.append(_state_cell(row))
    cells += [_quantity_cell(QUANTITIES[name], row.cells[name], units[name]) for name in quantities]
    return {"name": ", ".join(setting_words(row.key)) or "all runs", "cells": cells}


def _setting_cell(name: str, row: Row) -> Sheet:
    if name not in row.key:
        return text_cell(setting_label(name), "")
    value = row.key[name]
    cell = text_cell(setting_label(name), setting_value(name, value)) | {"sort": setting_text(value)}
    return cell | {"trainer": value} if name == "trainer" else cell


def _state_cell(row: Row) -> Sheet:
    stale = f"{row.stale} stale" if row.stale else ""
    counts = count(row.outcomes)
    good = f"{counts['ok']} ok" if "ok" in counts else ""
    chips = [(status, number) for status, number in counts.items() if status != "ok"]
    cell = text_cell("runs", good, chips=chips, detail=stale, short=bool(stale), title=row.reason)
    return cell | {"sort": row.status}


def _quantity_cell(quantity: Quantity, cell: Cell, unit: tuple[float, str]) -> Sheet:
    if cell.estimate is None:
        return number_cell(quantity.label, None, "–" if cell.planned else "", title=cell.reason)
    value = written(cell.estimate.value, quantity, unit)
    title = f"{cell.estimate.value!r}; {cell.used} of {cell.planned} runs"
    short = cell.used < cell.planned
    return number_cell(
        *(quantity.label, cell.estimate.value, value),
        detail=_detail(cell, quantity, unit),
        short=short,
        title=title,
    )


def written(value: float, quantity: Quantity, unit: tuple[float, str], reference: float | None = None) -> str:
    """A value in the column's unit, with the decimals that suit `reference` (the value itself if None)."""
    guide = value if reference is None else reference
    if quantity.unit in ("fraction", "ratio"):
        return shown(value, quantity.unit, guide)[0]
    return shown(value / unit[0], "", guide / unit[0])[0]


def _detail(cell: Cell, quantity: Quantity, unit: tuple[float, str]) -> str:
    """Interval and n below the value; `n = 2 of 3` where runs are lacking."""
    estimate: Estimate = cell.estimate  # type: ignore[assignment] # the caller has one
    parts = []
    if estimate.low is not None and estimate.high is not None:
        low, high = (written(end, quantity, unit, estimate.value) for end in (estimate.low, estimate.high))
        parts.append(f"{low} – {high}")
    lacking = f" of {cell.planned}" if cell.used < cell.planned else ""
    if lacking or cell.planned > 1 or estimate.n > 1 or quantity.spread.startswith("mean over seeds"):
        count = cell.used if lacking else estimate.n
        parts.append(f"n = {count}{lacking}")
    return ", ".join(parts)
