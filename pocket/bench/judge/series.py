"""What a plot draws, as plain data: axes, series of points with their spread, and notes on what could not be drawn."""

from collections.abc import Mapping, Sequence
from typing import Any

from pocket.bench.judge.collate import Key, group, rows, setting_text
from pocket.bench.judge.curve import CURVES, Curve, mean_curve
from pocket.bench.judge.outcome import Outcome
from pocket.bench.judge.quantity import QUANTITIES, Quantity
from pocket.bench.judge.smoothing import window
from pocket.bench.page.unit import SETTING_UNITS, setting_label, setting_value, setting_words
from pocket.bench.plan.spec import Experiment
from pocket.mistake import Mistake

Data = dict[str, Any]

AXIS_LABELS = {"update": ("update", ""), "epoch": ("epoch", ""), "seconds": ("part of one update", "%")}


def plots(experiment: Experiment, found: Mapping[str, Outcome]) -> list[Data]:
    """The data of each plot that the experiment shows, in its order."""
    members = [found[run.id] for run in experiment.runs]
    shown = enumerate(experiment.show.get("plots", []), 1)
    return [plot_data(experiment.name, number, spec, members, _rows(experiment)) for number, spec in shown]


def _rows(experiment: Experiment) -> list[str]:
    return list(experiment.show.get("table", {}).get("rows", []))


def plot_data(name: str, number: int, spec: Mapping[str, Any], found: Sequence[Outcome], row_names: list[str]) -> Data:
    """One plot. `spec`: x (a setting, or update, epoch, seconds), y (a quantity or a curve), by, kind (line, bars).

    Rows of the table that `by` does not tell apart become series of their own, so that nothing is averaged unsaid.
    Which kind of run measures it is the quantity's affair, not a series.
    """
    x, y, by = spec["x"], spec["y"], _list(spec.get("by", "trainer"))
    names = [one for one in dict.fromkeys([*by, *row_names]) if one not in (x, "kind")]
    data: Data = {
        "experiment": name,
        "plot": number,
        "kind": spec.get("kind", "line"),
        "scale": spec.get("scale", "auto"),
    }
    if y in CURVES:
        series, notes = _curves(CURVES[y], x, names, found)
        width = window(max((len(one["x"]) for one in series), default=0)) if x == "update" else 1
        if width > 1:
            notes.insert(0, f"lines: running mean of {width} updates; faint: each update")
        return data | {"window": width} | {"x": _axis(x), "y": _described(CURVES[y]), "series": series, "notes": notes}
    if y in QUANTITIES:
        series, notes = _sweep(QUANTITIES[y], x, names, found)
        described = _described(QUANTITIES[y])
        return data | {"x": _axis(x), "y": described, "series": series, "notes": notes}
    known = ", ".join([*QUANTITIES, *CURVES])
    raise Mistake(f"{name}: a plot shows {y!r}, wanted one of {known}: change show.plots in its YAML file")


def _list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or [])


def _axis(x: str) -> Data:
    label, unit = AXIS_LABELS.get(x, (setting_label(x), SETTING_UNITS.get(x, "")))
    return {"name": x, "label": label, "unit": unit}


def _described(shown: Quantity | Curve) -> Data:
    return {"name": shown.name, "label": shown.label, "unit": shown.unit, "spread": shown.spread}


def _curves(curve: Curve, x: str, names: list[str], found: Sequence[Outcome]) -> tuple[list[Data], list[str]]:
    if x not in curve.axes:
        wanted = " or ".join(curve.axes)
        raise Mistake(f"{curve.name} over {x!r} is unknown, wanted {wanted}: change show.plots in the YAML file")
    measured = [one for one in found if one.kind == curve.kind]
    series, notes = [], []
    for key, members in group(measured, names):
        failed = [one for one in members if not one.ok]
        notes += [_failure(key, one) for one in failed]
        joined = mean_curve([curve.axes[x](one.record) for one in members if one.ok and one.record is not None])
        points = [(at, *_spread(estimate)) for at, estimate in joined]
        gaps = sum(estimate is None for _, estimate in joined)
        if gaps:
            notes.append(f"{_said(key)}: {gaps} of {len(joined)} values are not finite")
        series.append(_series(key, points))
    return _named(series), list(dict.fromkeys(notes))


def _sweep(quantity: Quantity, x: str, names: list[str], found: Sequence[Outcome]) -> tuple[list[Data], list[str]]:
    measured = [one for one in found if one.kind in quantity.kinds]
    series: dict[str, tuple[Key, list[tuple]]] = {}
    trainers: dict[str, list[Any]] = {}
    notes = []
    for row in rows(measured, [x, *names], [quantity.name]):
        if x not in row.key:
            continue
        key = {name: value for name, value in row.key.items() if name != x}
        cell = row.cells[quantity.name]
        notes += [_failure(row.key, one) for one in row.outcomes if not one.ok and one.kind in quantity.kinds]
        if cell.estimate is None and row.status == "ok" and cell.planned:
            notes.append(f"{_said(row.key)}: {cell.reason or 'not recorded'}")
        if not cell.planned:
            continue
        at = row.key[x]
        place = at if _is_number(at) else setting_value(x, at)
        series.setdefault(setting_text(key), (key, []))[1].append((place, *_spread(cell.estimate)))
        trainers.setdefault(setting_text(key), []).append(row.key.get("trainer"))
    made = [_series(key, _ordered(points)) for key, points in series.values()]
    if x == "trainer":
        made = [one | {"trainers": trainers[setting_text(one["key"])]} for one in made]
    return _named(made), list(dict.fromkeys(notes))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _ordered(points: list[tuple]) -> list[tuple]:
    return sorted(points) if all(_is_number(point[0]) for point in points) else points


def _spread(estimate: Any) -> tuple[float | None, float | None, float | None, int]:
    if estimate is None:
        return None, None, None, 0
    return estimate.value, estimate.low, estimate.high, estimate.n


def _series(key: Key, points: list[tuple]) -> Data:
    columns = {name: [point[place] for point in points] for place, name in enumerate(("x", "y", "low", "high", "n"))}
    return {"name": "", "key": key, **columns}


def _named(series: list[Data]) -> list[Data]:
    """Name each series by the settings in which they differ; the trainer is always told."""
    kept = []
    for one in series:
        different = {name: value for name, value in one["key"].items() if name == "trainer" or _varies(name, series)}
        kept.append({**one, "name": ", ".join(setting_words(different)) or "all runs"})
    return kept


def _varies(name: str, series: list[Data]) -> bool:
    return len({setting_text(one["key"].get(name)) for one in series if name in one["key"]}) > 1


def _failure(key: Key, one: Outcome) -> str:
    return f"{_said(key) or one.run.id}: {one.status}"


def _said(key: Key) -> str:
    return ", ".join(setting_words(key))
