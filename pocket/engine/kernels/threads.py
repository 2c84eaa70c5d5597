"""Threads over images, rows or blocks. Arithmetic inside a piece is single-threaded; the pieces run side by side."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context

_count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_executor: ThreadPoolExecutor | None = None


def count() -> int:
    """How many threads work at once."""
    return _count


def set_count(threads: int) -> None:
    """Sets how many threads work at once."""
    global _count, _executor
    if threads < 1:
        raise ValueError(f"threads {threads}; wanted at least 1")
    if threads != _count and _executor is not None:
        _executor.shutdown()
        _executor = None
    _count = threads


def over(items: int, work: Callable[[int, int, int], object], smallest: int = 1) -> None:
    """Calls work(first, last, thread) on equal shares of range(items), one share a thread, and waits for all.

    No share is smaller than `smallest`, so that little work stays on the calling thread. The shares depend only on
    `items` and the number of threads: a sum over them is the same each time.
    """
    global _executor
    shares = max(1, min(_count, items // smallest))
    if shares == 1:
        work(0, items, 0)
        return
    if _executor is None:
        _executor = ThreadPoolExecutor(_count - 1, thread_name_prefix="pocket")
    cuts = [items * share // shares for share in range(shares + 1)]
    # in a copy of the caller's context, which holds NumPy's treatment of overflow and nan
    waiting = [
        _executor.submit(copy_context().run, work, cuts[share], cuts[share + 1], share) for share in range(1, shares)
    ]
    try:
        work(cuts[0], cuts[1], 0)
    finally:
        wait(waiting)  # all of them, before the first error is raised: they write to arrays of the caller
        for future in waiting:
            future.result()
