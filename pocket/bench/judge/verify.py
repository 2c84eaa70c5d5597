"""Is every number shown what the sealed records say? Everything right of the records is made again and compared."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pocket.bench import record as records
from pocket.bench.judge.check_plot import check_plots
from pocket.bench.judge.check_table import table_problems
from pocket.bench.judge.outcome import Outcome, outcomes
from pocket.bench.page.markup import differences
from pocket.bench.page.report import render_page, report_path
from pocket.bench.page.stated import folders_on, stale_on
from pocket.bench.plan.spec import Plan
from pocket.mistake import Mistake

ADVICE = "make report brings it up to date"


@dataclass(frozen=True)
class Verification:
    """One line a problem: the place, what stands there and what should. `notes` say what could not be checked."""

    problems: tuple[str, ...]
    notes: tuple[str, ...]


def verify(plan: Plan, results: Path) -> Verification:
    """Check the seal and the form of every record under `results` (those of other suites too), and of the plan every
    table cell, every plotted series (in the JSON and inside the SVG), the drawings and every piece of the page.

    Records that became stale since the page was made show as one line: all else is compared as it was then.
    """
    now = outcomes(plan.runs, results)
    path = report_path(results)
    try:
        page = path.read_bytes().decode("utf-8")
        unreadable = []
    except (OSError, UnicodeDecodeError) as wrong:
        page, unreadable = "", [f"page: {path} cannot be read: {wrong}"]
    stated = stale_on(page, plan.runs)
    then = {name: replace(one, stale=name in stated) for name, one in now.items()} if page else now

    problems, elsewhere = [*_records(results)], []
    for experiment in plan.experiments:
        problems += table_problems(experiment, then, results)
        found, versions = check_plots(experiment, then, results)
        problems += found
        elsewhere += versions
    problems += unreadable or _page(plan, results, then, page)
    return Verification((*_staleness(now, then), *_without_stale_column(problems)), tuple(_notes(elsewhere)))


def _staleness(now: Mapping[str, Outcome], then: Mapping[str, Outcome]) -> Iterator[str]:
    became = sum(now[name].stale and not then[name].stale for name in now)
    fresh = sum(then[name].stale and not now[name].stale for name in now)
    if became:
        yield f"{_counted(became, 'record')} became stale since the page was made: {ADVICE}"
    if fresh:
        yield f"{_counted(fresh, 'record')} called stale on the page, and not stale: {ADVICE}"


def _without_stale_column(problems: list[str]) -> Iterator[str]:
    """Tables made before the page, or after it, count stale records otherwise: one line for all of them."""
    kept = [problem for problem in problems if ", column stale: " not in problem]
    if len(kept) < len(problems):
        yield f"{_counted(len(problems) - len(kept), 'table row')} made when fewer or more records were stale: {ADVICE}"
    yield from kept


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _notes(elsewhere: list[str]) -> Iterator[str]:
    if elsewhere:
        versions = ", ".join(dict.fromkeys(elsewhere))
        were, their = ("was", "its") if len(elsewhere) == 1 else ("were", "their")
        made = f"{_counted(len(elsewhere), 'drawing')} {were} made by another Matplotlib ({versions})"
        yield f"{made} and only {their} series were checked"


def _records(results: Path) -> Iterator[str]:
    for path in sorted((results / "records").glob("*.json")):
        try:
            record = records.read(path)
        except Mistake as wrong:
            yield f"record {path.stem}: {wrong}"
            continue
        if record["run"] != path.stem:
            yield f"record {path.stem}: the file holds run {record['run']!r}, wanted {path.stem!r}"


def _page(plan: Plan, results: Path, then: Mapping[str, Outcome], stands: str) -> Iterator[str]:
    try:
        wanted = render_page(plan, results, then, folders_on(stands))
    except Mistake as wrong:
        yield f"page: {wrong}"
        return
    found = differences(stands, wanted)
    for place, old, new in found:
        yield f"page, {place}: it says {old!r}, the records {new!r}"
    if stands != wanted and not found:
        yield "page: it differs from what the records give in blanks only"
