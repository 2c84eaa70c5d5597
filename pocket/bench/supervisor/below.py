"""Everything below a supervisor: found wherever it went, and ended."""

import os
import time
from collections.abc import Collection, Iterable

from pocket.bench.supervisor import process
from pocket.bench.supervisor.worker import Worker

GRACE_SECONDS = 2.0  # for a worker to report what it has
KILL_SECONDS = 2.5  # both together stay below the 5 s within which nothing may be left


def ask_to_end(workers: Collection[Worker]) -> None:
    """Each worker reports what it has, if it still can; returns when all have or the grace is over."""
    for worker in workers:
        worker.ask_to_end()
    end = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < end and any(worker.result is None and worker.status is None for worker in workers):
        for worker in workers:
            worker.hear()
        time.sleep(0.01)


def end_all(workers: Collection[Worker], token: str, strangers: Iterable[int]) -> set[int]:
    """Kill the workers and all that came of them, also what ignores signals, left the session or hides behind init.

    Found by descent, by adoption (this process takes in orphans), and by the token in the environment. `strangers` are
    children of this process that have no part in the run. Returns what would not end.
    """
    own, others = {worker.pid for worker in workers}, set(strangers)

    def left() -> set[int]:
        table = process.table()
        adopted = {pid for pid, line in table.items() if line.parent == os.getpid()} - others
        below = set[int]().union(*(process.descendants(pid, table) for pid in own | adopted))
        return own | adopted | below | process.marked(token)

    return process.kill_all(left, KILL_SECONDS)
