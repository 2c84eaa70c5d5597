"""Live bytes of the engine on a CPU: tracemalloc sees every NumPy buffer, the pool's own account stands beside it."""

import gc
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

SAMPLE_SECONDS = 0.0002


class PoolProbe:
    """Between `warm` and `numbers`: the peak of traced array bytes. Python's own objects are found at `warm`, when no
    step is under way, and taken off. `pool` gives the pool once the trainer runs: each of its buffers must be an
    allocation of its own (backing "system"), since tracemalloc cannot see into an arena."""

    method = "tracemalloc"

    def __init__(self, pool: Callable[[], Any]):
        self._pool = pool
        self._objects_bytes = 0
        self._sampler = Sampler(lambda: tracemalloc.get_traced_memory()[0])

    def __enter__(self) -> "PoolProbe":
        gc.collect()
        tracemalloc.start(1)
        return self

    def __exit__(self, *problem: object) -> None:
        self._sampler.stop()
        tracemalloc.stop()

    def warm(self) -> None:
        """Warm-up is over: the peak counts from here."""
        gc.collect()
        arrays = array_bytes()
        self._objects_bytes = tracemalloc.get_traced_memory()[0] - arrays
        tracemalloc.reset_peak()
        if self._pool() is not None:
            self._pool().reset_peak()

    def watch(self) -> None:
        """The next update is the one whose timeline is wanted."""
        self._sampler.start()

    def numbers(self) -> dict[str, Any]:
        """`live_peak_bytes`, `account_peak_bytes`, `reserved_peak_bytes`, `method`, `timeline` of a memory record."""
        self._sampler.stop()
        peak = tracemalloc.get_traced_memory()[1]
        found: dict[str, Any] = {
            "live_peak_bytes": peak - self._objects_bytes,
            "reserved_peak_bytes": None,
            "reserved_peak_bytes_reason": "in this run each buffer is an allocation of its own: see the timed run",
            "account_peak_bytes": self._pool().peak_bytes if self._pool() is not None else None,
            "method": self.method,
            "timeline": [[seconds, live - self._objects_bytes] for seconds, live in self._sampler.samples],
        }
        if found["account_peak_bytes"] is None:
            found["account_peak_bytes_reason"] = "this run has no pool"
        return found


def array_bytes() -> int:
    """Bytes in NumPy's buffers now, as tracemalloc has them."""
    only_arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    traces = tracemalloc.take_snapshot().filter_traces([only_arrays]).traces
    return sum(trace.size for trace in traces)


class Sampler:
    """A thread that reads a number over and over: [(seconds since the start, number), …], repeated values left out."""

    def __init__(self, read: Callable[[], int]):
        self._read = read
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self.samples: list[tuple[float, int]] = []

    def start(self) -> None:
        sys.setswitchinterval(SAMPLE_SECONDS)  # else a busy interpreter lets us in only every 5 ms
        self._thread = threading.Thread(target=self._work, name="pocket-sampler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        start = time.perf_counter()
        while not self._ended.is_set():
            number = self._read()
            if not self.samples or self.samples[-1][1] != number:
                self.samples.append((time.perf_counter() - start, number))
            time.sleep(SAMPLE_SECONDS)
