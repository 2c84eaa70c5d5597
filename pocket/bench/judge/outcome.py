"""What came of a planned run: its record, or the reason why there is none."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pocket.bench import record as records
from pocket.bench.plan.spec import Run
from pocket.bench.source import is_stale
from pocket.mistake import Mistake

Record = Mapping[str, Any]

# In the order in which a report lists them. `missing` and `invalid` say how the file is, the others what it says.
STATUSES = (
    "ok",
    "diverged",
    "oom_device",
    "oom_host",
    "implied_oom",
    "timeout",
    "killed",
    "error",
    "unsupported",
    "invalid",
    "missing",
)


@dataclass(frozen=True)
class Outcome:
    """A planned run, its record (None when it is missing or unreadable), its status and a reason of one line."""

    run: Run
    record: Record | None
    status: str
    reason: str
    stale: bool

    @property
    def kind(self) -> str:
        return str(self.run.settings["kind"])

    @property
    def ok(self) -> bool:
        return self.status == "ok"


def outcome(run: Run, results: Path) -> Outcome:
    """Read the record of one run. A missing, cut, altered or foreign file is an outcome too, never an exception."""
    path = results / "records" / f"{run.id}.json"
    if not path.exists():
        return Outcome(run, None, "missing", "no record yet", stale=False)
    try:
        record = records.read(path)
    except (Mistake, OSError) as wrong:
        return Outcome(run, None, "invalid", one_line(str(wrong)), stale=False)
    if record["run"] != run.id:
        return Outcome(run, None, "invalid", f"{path.name} holds the record of {record['run']}", stale=False)
    return Outcome(run, record, record["status"], one_line(record["reason"] or ""), is_stale(record))


def one_line(text: str) -> str:
    return " ".join(text.split())


def outcomes(runs: Iterable[Run], results: Path) -> dict[str, Outcome]:
    """Run id -> outcome, every run read once."""
    return {run.id: outcome(run, results) for run in runs}


def count(found: Iterable[Outcome]) -> dict[str, int]:
    """Status -> how many, in the order of STATUSES, zeros left out."""
    statuses = [one.status for one in found]
    return {status: statuses.count(status) for status in STATUSES if status in statuses}
