"""When a smaller batch ran out of memory, a larger one of the same series need not be tried: its record says so."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pocket.bench import record as records
from pocket.bench.plan.identity import Run
from pocket.mistake import Mistake


def ran_out(record: dict[str, Any]) -> bool:
    """Whether the run certainly ran out of memory. A SIGKILL that was only guessed to be for memory implies nothing:
    such a record has no `values.shortage`."""
    return record["status"] == "oom_device" or (record["status"] == "oom_host" and "shortage" in record["values"])


def series(run: Run) -> str:
    """What the runs of one series have in common: every setting but the batch, accumulation included, so that the
    micro-batches grow with the batch."""
    return json.dumps({name: value for name, value in run.settings.items() if name != "batch_size"}, sort_keys=True)


def smaller_that_ran_out(run: Run, planned: Iterable[Run], results: Path) -> dict[str, Any] | None:
    """The record of the largest smaller batch of the run's series that ran out of memory by itself, or None."""
    batch = run.settings.get("batch_size", 0)
    siblings = [
        other for other in planned if series(other) == series(run) and other.settings.get("batch_size", 0) < batch
    ]
    for other in sorted(siblings, key=lambda sibling: -sibling.settings["batch_size"]):
        try:
            record = records.read(records.path_of(other.id, results))
        except Mistake:
            continue
        if ran_out(record):
            return record
    return None


def implied_record(run: Run, smaller: dict[str, Any]) -> dict[str, Any]:
    """The sealed record of a run that was not tried: everything about machine and code is that of the sibling."""
    batch = smaller["settings"]["batch_size"]
    body = {
        **{name: smaller[name] for name in ("kind", "data", "weights", "device", "machine", "code")},
        "run": run.id,
        "settings": dict(run.settings),
        "status": "implied_oom",
        "reason": f"not tried: batch {batch} of the same series ran out of memory ({smaller['run']})",
        "detail": smaller["reason"],
        "started": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seconds": {**dict.fromkeys(smaller["seconds"]), "total": 0.0},
        "values": {},
    }
    return records.seal(body)
