"""Is every number shown what the sealed records say? Everything right of the records is made again and compared."""

from collections.abc import Iterator
from pathlib import Path

from pocket.bench import record as records
from pocket.bench.judge.check_plot import plot_problems
from pocket.bench.judge.check_table import table_problems
from pocket.bench.judge.outcome import outcomes
from pocket.bench.page.markup import differences
from pocket.bench.page.report import render_page, report_path
from pocket.bench.plan.spec import Plan
from pocket.mistake import Mistake


def verify(plan: Plan, results: Path) -> list[str]:
    """One line a problem, empty when all is well: each names the place, what stands there and what should.

    Checked are the seal and the form of every record under `results` (those of other suites too), and of the plan every
    table cell, every plotted series (in the JSON and inside the SVG), the drawings and every piece of the page.
    """
    found = outcomes(plan.runs, results)
    problems = list(_records(results))
    for experiment in plan.experiments:
        problems += table_problems(experiment, found, results)
        problems += plot_problems(experiment, found, results)
    return problems + list(_page(plan, results))


def _records(results: Path) -> Iterator[str]:
    for path in sorted((results / "records").glob("*.json")):
        try:
            record = records.read(path)
        except Mistake as wrong:
            yield f"record {path.stem}: {wrong}"
            continue
        if record["run"] != path.stem:
            yield f"record {path.stem}: the file holds run {record['run']!r}, wanted {path.stem!r}"


def _page(plan: Plan, results: Path) -> Iterator[str]:
    path = report_path(results)
    try:
        stands = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        yield f"page: {path} cannot be read: {wrong}"
        return
    try:
        wanted = render_page(plan, results)
    except Mistake as wrong:
        yield f"page: {wrong}"
        return
    found = differences(stands, wanted)
    for place, old, new in found:
        yield f"page, {place}: it says {old!r}, the records {new!r}"
    if stands != wanted and not found:
        yield "page: it differs from what the records give in blanks only"
