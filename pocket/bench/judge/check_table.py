"""Does a table's CSV hold what the records give, cell by cell?"""

import csv
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

from pocket.bench.judge.collate import header, line, table, table_names, table_path
from pocket.bench.judge.outcome import Outcome
from pocket.bench.plan.spec import Experiment


def table_problems(experiment: Experiment, found: Mapping[str, Outcome], results: Path) -> Iterator[str]:
    path = table_path(experiment, results)
    names, quantities = table_names(experiment)
    titles, rows = header(names, quantities), table(experiment, found)
    wanted = [line(row, names, quantities) for row in rows]
    try:
        with path.open(encoding="utf-8", newline="") as file:
            head, *stands = csv.reader(file)
    except (OSError, ValueError, csv.Error) as wrong:
        yield f"table {experiment.name}: {path} cannot be read: {wrong}"
        return
    if head != titles:
        yield f"table {experiment.name}: the columns are {head}, wanted {titles}"
        return
    for number, (old, new) in enumerate(zip_longest(stands, wanted), 1):
        yield from _line(f"table {experiment.name}, row {number}", titles, old, new)


def _line(where: str, titles: list[str], stands: list[str] | None, wanted: list[str] | None) -> Iterator[str]:
    if stands is None or wanted is None:
        yield f"{where}: {'is lacking' if stands is None else 'has no runs'}: {stands or wanted}"
        return
    if len(stands) != len(wanted):
        yield f"{where}: has {len(stands)} cells, wanted {len(wanted)}"
        return
    for title, old, new in zip(titles, stands, wanted, strict=True):
        if old != new:
            yield f"{where}, column {title}: the table says {old!r}, the records {new!r}"
