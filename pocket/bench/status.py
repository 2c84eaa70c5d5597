"""Where a plan stands: runs by status, which are stale or missing; and the removal of records that shall be redone."""

from collections.abc import Mapping
from pathlib import Path

from pocket.bench import record as records
from pocket.bench.judge.outcome import Outcome, count, outcomes
from pocket.bench.plan.spec import Plan
from pocket.mistake import Mistake

_UNANSWERED = ("error", "timeout", "killed", "invalid")


def failures(plan: Plan, results: Path) -> list[str]:
    """One line for each run of the plan that came to no answer: what `retry` removes."""
    found = outcomes(plan.runs, results)
    return [f"{name}: {one.reason}" for name, one in found.items() if one.status in _UNANSWERED]


def describe(plan: Plan, results: Path, every_run: bool = False) -> str:
    """Counts by status, then a line for each run that is not ok (`every_run`: for each run)."""
    found = outcomes(plan.runs, results)
    counts = ", ".join(f"{number} {status}" for status, number in count(found.values()).items())
    lines = [f"Suite {plan.suite} on {plan.device}: {len(found)} runs: {counts}; {_stale(found)} stale"]
    for name, one in found.items():
        if every_run or one.status not in ("ok", "missing") or one.stale:
            stale = " (stale)" if one.stale else ""
            lines.append(f"  {one.status:12s} {name}{stale}  {one.reason}".rstrip())
    return "\n".join(lines)


def retry(plan: Plan, results: Path) -> list[str]:
    """Remove the plan's records that say error, timeout or killed, or cannot be read. Returns the run ids."""
    found = outcomes(plan.runs, results)
    return _remove([name for name, one in found.items() if one.status in _UNANSWERED], plan, results)


def refresh(plan: Plan, results: Path) -> list[str]:
    """Remove the plan's records that were made by code that has changed since. Returns the run ids."""
    found = outcomes(plan.runs, results)
    return _remove([name for name, one in found.items() if one.stale], plan, results)


def _stale(found: Mapping[str, Outcome]) -> int:
    return sum(one.stale for one in found.values())


def _remove(names: list[str], plan: Plan, results: Path) -> list[str]:
    """With the records, what was made of them: as long as that stands, Snakemake misses no record."""
    removed = set(names)
    made = [
        results / "tables" / f"{experiment.name}.csv"
        for experiment in plan.experiments
        if removed & {run.id for run in experiment.runs}
    ]
    page = [results / "report.html"] if names else []
    for path in [*(records.path_of(name, results) for name in names), *made, *page]:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise Mistake(f"cannot remove {path}: {error.strerror}") from None
    return names
