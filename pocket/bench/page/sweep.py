"""How a table's quantities change along the settings that it varies, in sentences: one a quantity."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pocket.bench.judge.collate import Row, canonical, table, table_names
from pocket.bench.judge.contrast import HOW
from pocket.bench.judge.outcome import Outcome
from pocket.bench.judge.quantity import QUANTITIES
from pocket.bench.page.unit import quantity_text, setting_label, setting_value, setting_words, signed
from pocket.bench.plan.spec import Experiment

SCORES = ("accuracy", "r2")
LISTED = 6  # rows of a crossed table that a sentence tells; the table has them all

Series = dict[str, list[Row]]


def sweep_sentences(experiment: Experiment, found: Mapping[str, Outcome]) -> list[str]:
    """Along one setting from its first value to its last; of several crossed ones each row against the first."""
    names, quantities = table_names(experiment)
    kept = begun(table(experiment, found))
    axes = [name for name in names if name not in (*HOW, "kind", "opponent") and _varies(name, kept)]
    if not axes:
        return []
    series = _series(kept, axes)
    told = told_quantities(quantities, kept, axes)
    if len(axes) == 1:
        return [text for name in told if (text := _along(name, axes[0], series))]
    return [text for name in told if (text := _crossed(name, axes, series))]


def told_quantities(quantities: Sequence[str], kept: Sequence[Row], axes: Sequence[str] = ()) -> list[str]:
    """The columns that a sentence is worth, in the table's order.

    Losses stand behind a score, and samples a second are the step time told again unless the batch changes. What one
    trainer cannot have (a pool's bytes) compares nothing; the table shows it.
    """
    having = [name for name in quantities if any(row.cells[name].estimate for row in kept)]
    trainers = {row.key.get("trainer") for row in kept if any(row.cells[name].estimate for name in having)}
    told = []
    for name in having:
        whose = {row.key.get("trainer") for row in kept if row.cells[name].estimate}
        behind = name.endswith("_loss") and any(score in having for score in SCORES)
        again = name == "images_per_second" and "step_seconds" in having and "batch_size" not in axes
        if whose == trainers and not behind and not again:
            told.append(name)
    return told


def begun(rows: Sequence[Row]) -> list[Row]:
    """Rows with a record of training or its memory: what nobody has run yet says nothing, a failure does."""
    return [row for row in rows if any(o.kind in ("train", "memory") and o.status != "missing" for o in row.outcomes)]


def headed(name: str) -> str:
    label = QUANTITIES[name].label
    return label[0].upper() + label[1:]


def _varies(name: str, kept: Sequence[Row]) -> bool:
    return len({canonical(row.key[name]) for row in kept if name in row.key}) > 1


def _series(kept: Sequence[Row], axes: Sequence[str]) -> Series:
    """Rows that differ along the axes only, under the words that tell them from others; the trainer always is one."""
    groups: dict[str, tuple[dict[str, Any], list[Row]]] = {}
    for row in kept:
        key = {name: value for name, value in row.key.items() if name not in (*axes, "kind")}
        groups.setdefault(canonical(key), (key, []))[1].append(row)
    keys = [key for key, _ in groups.values()]
    named: Series = {}
    for key, members in groups.values():
        own = {n: v for n, v in key.items() if n == "trainer" or any(n in k and k[n] != v for k in keys)}
        named[", ".join(setting_words(own)) or "all runs"] = members
    return named


def _along(name: str, axis: str, series: Series) -> str:
    ordered = {which: _ordered([row for row in members if axis in row.key], axis) for which, members in series.items()}
    longest = max(ordered.values(), key=len)
    ends = [setting_value(axis, row.key[axis]) for row in (longest[0], longest[-1])]
    told = [f"{which} {text}" for which, members in ordered.items() if (text := _from_to(name, members))]
    return f"{headed(name)}, {setting_label(axis)} {ends[0]} → {ends[1]}: {'; '.join(told)}." if told else ""


def _ordered(members: list[Row], axis: str) -> list[Row]:
    numbers = all(type(row.key[axis]) in (int, float) for row in members)
    order: Callable[[Row], Any] = lambda row: row.key[axis]  # noqa: E731 # one key of a sort
    return sorted(members, key=order) if numbers else members


def _from_to(name: str, members: Sequence[Row]) -> str:
    if len(members) < 2:
        return ""
    first, last = (_value_text(row, name) for row in (members[0], members[-1]))
    if not any(row.cells[name].estimate for row in (members[0], members[-1])):
        return ""
    change = _change(name, members[0], members[-1])
    return f"{first} → {last}{f' ({change})' if change else ''}"


def _value_text(row: Row, name: str) -> str:
    """The value, or the status of the run that has none."""
    quantity, estimate = QUANTITIES[name], row.cells[name].estimate
    if estimate is not None:
        return quantity_text(estimate.value, quantity.unit)
    failed = [one.status for one in row.outcomes if not one.ok and one.kind in quantity.kinds]
    return failed[0].replace("_", " ") if failed else "none"


def _change(name: str, first: Row, last: Row) -> str:
    """Points for shares, a difference for scores that may be negative, else a factor; empty where a value lacks."""
    before, after = (row.cells[name].estimate for row in (first, last))
    if before is None or after is None:
        return ""
    if QUANTITIES[name].unit == "fraction":
        return f"{signed((after.value - before.value) * 100)} points"
    if name in SCORES or before.value <= 0:
        return signed(after.value - before.value, 4)
    return f"×{after.value / before.value:.2f}"


def _crossed(name: str, axes: Sequence[str], series: Series) -> str:
    """`Test accuracy, accumulation steps 1: engine 98.9 %; accumulation steps 8, loss divided: engine −0.83 points.`"""
    places: dict[str, dict[str, Any]] = {}
    rows: dict[str, dict[str, Row]] = {}
    for which, members in series.items():
        for row in members:
            at = {axis: row.key[axis] for axis in axes if axis in row.key}
            places.setdefault(canonical(at), at)
            rows.setdefault(canonical(at), {})[which] = row
    base, *others = places
    told = [_at(places[base], [f"{which} {_value_text(row, name)}" for which, row in rows[base].items()])]
    for place in others[:LISTED]:
        changes = []
        for which, row in rows[place].items():
            start = rows[base].get(which)
            change = _change(name, start, row) if start else ""
            changes.append(f"{which} {change or _value_text(row, name)}")
        told.append(_at(places[place], changes))
    return f"{headed(name)}, {'; '.join(told)}." if told else ""


def _at(place: Mapping[str, Any], said: Sequence[str]) -> str:
    return f"{', '.join(setting_words(place))}: {', '.join(said)}"
