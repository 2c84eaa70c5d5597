"""Records -> tables: one row a combination of the table's row settings, one cell a quantity.

The runs of a row are those whose settings agree with it where they have them. A memory run knows no epochs and the
engine no memory format, so such a run joins every row that agrees with the rest of it. A `pair` stands in the row of
its opponent ("the first trainer, over this one") unless `opponent` is a row setting itself. A row with a failed run
keeps its place.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pocket.bench.judge.outcome import Outcome, count, outcomes
from pocket.bench.judge.quantity import QUANTITIES, Quantity, absence
from pocket.bench.judge.stats import Estimate
from pocket.bench.plan.setting import SETTINGS
from pocket.bench.plan.spec import Experiment, sides
from pocket.bench.record import place

Key = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """`used` of `planned` runs gave values; `estimate` is None when none did, and `reason` may say why."""

    estimate: Estimate | None
    used: int
    planned: int
    reason: str


@dataclass(frozen=True)
class Row:
    key: Key
    outcomes: tuple[Outcome, ...]
    cells: Mapping[str, Cell]

    @property
    def status(self) -> str:
        counts = count(self.outcomes)
        if len(counts) == 1:
            return next(iter(counts))
        return ", ".join(f"{number} {status}" for status, number in counts.items())

    @property
    def reason(self) -> str:
        return "; ".join(dict.fromkeys(one.reason for one in self.outcomes if one.reason and not one.ok))

    @property
    def stale(self) -> int:
        return sum(one.stale for one in self.outcomes)


def row_settings(outcome: Outcome, names: Sequence[str]) -> Key:
    """The values that a run has of the row settings `names`."""
    settings = outcome.run.settings
    if outcome.kind == "pair" and "opponent" not in names:
        opponent = sides(settings)[1]
        settings = {name: value for name, value in opponent.items() if SETTINGS[name].concerns(opponent)}
    return {name: settings[name] for name in names if name in settings}


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def group(found: Iterable[Outcome], names: Sequence[str]) -> list[tuple[Key, list[Outcome]]]:
    """Keys that no other key extends, each with the runs that agree with it, in the order of the runs."""
    members = [(row_settings(one, names), one) for one in found]
    keys = {canonical(key): key for key, _ in members}
    kept = [key for key in keys.values() if not any(key != other and _agrees(key, other) for other in keys.values())]
    return [(key, [one for own, one in members if _agrees(own, key)]) for key in kept]


def _agrees(part: Key, whole: Key) -> bool:
    """Does `whole` have everything that `part` has? Compared as JSON: 1, 1.0 and True are different settings."""
    return all(name in whole and canonical(value) == canonical(whole[name]) for name, value in part.items())


def cell(quantity: Quantity, found: Sequence[Outcome]) -> Cell:
    """One quantity of one row. Only runs that ended well count; the others show in `used` of `planned`."""
    kind = next((kind for kind in quantity.kinds if any(one.kind == kind for one in found)), None)
    planned = [one for one in found if one.kind == kind]
    records = [one.record for one in planned if one.ok and one.record is not None]
    raw = [values for values in map(quantity.read, records) if values]
    reasons = dict.fromkeys(reason for reason in (absence(quantity, record) for record in records) if reason)
    estimate = quantity.estimate([value for values in raw for value in values]) if raw else None
    return Cell(estimate, len(raw), len(planned), "; ".join(reasons))


def rows(found: Sequence[Outcome], names: Sequence[str], quantities: Sequence[str]) -> list[Row]:
    return [
        Row(key, tuple(members), {name: cell(QUANTITIES[name], members) for name in quantities})
        for key, members in group(found, names)
    ]


def table_names(experiment: Experiment) -> tuple[list[str], list[str]]:
    """The table's row settings and quantities; curves have no cell and are left to plots."""
    table = experiment.show.get("table", {})
    return list(table.get("rows", [])), [name for name in table.get("columns", []) if name in QUANTITIES]


def table(experiment: Experiment, found: Mapping[str, Outcome]) -> list[Row]:
    return rows([found[run.id] for run in experiment.runs], *table_names(experiment))


def setting_text(value: Any) -> str:
    """Text unchanged, everything else as JSON: the name "007" stays 007, a list or mapping can be read back."""
    return value if isinstance(value, str) else canonical(value)


def header(names: Sequence[str], quantities: Sequence[str]) -> list[str]:
    parts = ("", "_low", "_high", "_std", "_n", "_runs")
    cells = [f"{quantity}{part}" for quantity in quantities for part in parts]
    return [*names, "status", "reason", "stale", *cells, "runs"]


def _number(value: float | None) -> str:
    return "" if value is None else repr(value)


def _cell_texts(cell: Cell) -> list[str]:
    if not cell.planned:
        return [""] * 6
    runs = f"{cell.used} of {cell.planned}"
    if cell.estimate is None:
        return ["", "", "", "", "0", runs]
    e = cell.estimate
    return [_number(e.value), _number(e.low), _number(e.high), _number(e.std), str(e.n), runs]


def line(row: Row, names: Sequence[str], quantities: Sequence[str]) -> list[str]:
    settings = [setting_text(row.key[name]) if name in row.key else "" for name in names]
    cells = [text for name in quantities for text in _cell_texts(row.cells[name])]
    stale = f"{row.stale} of {len(row.outcomes)}"
    return [*settings, row.status, row.reason, stale, *cells, " ".join(one.run.id for one in row.outcomes)]


def table_text(experiment: Experiment, found: Mapping[str, Outcome]) -> str:
    """The table as CSV (RFC 4180 quoting, lines end in a newline). An empty cell is a missing number, never text."""
    names, quantities = table_names(experiment)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header(names, quantities))
    writer.writerows(line(row, names, quantities) for row in table(experiment, found))
    return text.getvalue()


def table_path(experiment: Experiment, results: Path) -> Path:
    return results / "tables" / f"{experiment.name}.csv"


def write_table(experiment: Experiment, results: Path) -> Path:
    """Write results/tables/NAME.csv. pandas reads it back unchanged with `dtype=str, keep_default_na=False`."""
    path = table_path(experiment, results)
    place(path, table_text(experiment, outcomes(experiment.runs, results)).encode("utf-8"))
    return path
