"""The pool: one arena that every array of a training step comes from, and the account of it (A2, A13).

The arena is a single range of address space, reserved ahead; its pages become memory when they are first touched. A
request takes the smallest free range that holds it, and neighbouring free ranges merge, so the second step finds the
room that the first one left and nothing is asked of the operating system inside the training loop.

An array over the pool is an ordinary array whose owner is a `Block`. When the last array or view over it is gone,
Python drops the block and its range is free at that moment: storage cannot be used after it was given back.
"""

import math
import mmap
import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from pocket.engine.arena import ALIGNMENT, Arena, SystemBuffers

CATEGORIES = ("weights", "gradients", "optimizer", "saved", "temporary", "input")


class PoolExhausted(MemoryError):
    """The budget does not hold the request. Says what was asked for, what was live and who held it."""

    def __init__(self, asked_bytes: int, live_bytes: int, budget_bytes: int, largest: list[tuple[int, str]]):
        self.asked_bytes, self.live_bytes, self.budget_bytes = asked_bytes, live_bytes, budget_bytes
        self.largest = largest
        held = ", ".join(f"{size:,} {category}" for size, category in largest) or "nothing"
        super().__init__(
            f"{asked_bytes:,} bytes asked for, {live_bytes:,} live of a budget of {budget_bytes:,}; "
            f"largest buffers: {held}. Lower batch_size or raise memory_budget."
        )


class Block:
    """The owner of one range: an array library makes arrays over it, and its end gives the range back."""

    __slots__ = ("__array_interface__", "arena", "key", "pool")

    def __init__(self, pool: "Pool", arena: Arena | SystemBuffers, key: int, address: int, shape: tuple, dtype: str):
        self.pool, self.arena, self.key = pool, arena, key
        self.__array_interface__ = {"shape": shape, "typestr": dtype, "data": (address, False), "version": 3}

    def __del__(self):
        self.pool._give_back(self.arena, self.key)


class Pool:
    """Arrays from one arena, and the account of them in bytes.

    `budget_bytes` bounds the live bytes and raises `PoolExhausted` beyond; the arena itself is reserved twice as
    large, so that fragmentation never refuses what the budget allows. `backing` is "arena", or "system" for buffers of
    their own.

    live_bytes: handed out now. peak_bytes: the most of it since `reset_peak`. reserved_bytes: the part of the arena
    that was ever handed out. category_bytes: live bytes by category; peak_category_bytes: the same at the peak.
    timeline: (event number, live bytes) after every event while `recording` is true.
    """

    def __init__(self, budget_bytes: int | None = None, backing: str = "arena", capacity_bytes: int | None = None):
        if backing not in ("arena", "system"):
            raise ValueError(f'backing {backing!r}; wanted "arena" or "system"')
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        wanted = capacity_bytes or max(2 * (budget_bytes or 0), physical)
        self.capacity_bytes = math.ceil(wanted / mmap.PAGESIZE) * mmap.PAGESIZE
        self.budget_bytes, self.backing = budget_bytes, backing
        self.recording = False
        self.timeline: list[tuple[int, int]] = []
        self._lock = threading.Lock()
        self._returned: deque[tuple[Arena | SystemBuffers, int]] = deque()
        self._start_over()

    def _start_over(self) -> None:
        self._arena: Arena | SystemBuffers | None = None
        self._held: dict[int, tuple[int, str]] = {}
        self._live = self._peak = self._events = 0
        self._categories = dict.fromkeys(CATEGORIES, 0)
        self._peak_categories = dict(self._categories)

    def empty(self, shape, dtype, category: str = "temporary") -> np.ndarray:
        """An array of undefined content. Raises PoolExhausted beyond the budget."""
        shape, dtype = (shape,) if isinstance(shape, int) else tuple(shape), np.dtype(dtype)
        size = -(-max(1, math.prod(shape) * dtype.itemsize) // ALIGNMENT) * ALIGNMENT
        with self._lock:
            self._drain()
            block = Block(self, *self._take(size, category), shape, dtype.str)
        self._drain_if_free()
        return np.asarray(block)

    def zeros(self, shape, dtype, category: str = "temporary") -> np.ndarray:
        """An array of zeros."""
        array = self.empty(shape, dtype, category)
        array.fill(0)
        return array

    def _take(self, size: int, category: str) -> tuple[Arena | SystemBuffers, int, int]:
        if category not in self._categories:
            raise ValueError(f"category {category!r}; wanted one of {', '.join(CATEGORIES)}")
        if self.budget_bytes is not None and self._live + size > self.budget_bytes:
            raise PoolExhausted(size, self._live, self.budget_bytes, sorted(self._held.values(), reverse=True)[:5])
        if self._arena is None:
            self._arena = Arena(self.capacity_bytes) if self.backing == "arena" else SystemBuffers()
        key, address = self._arena.take(size)
        self._held[key] = size, category
        self._account(size, category)
        return self._arena, key, address

    def _account(self, change: int, category: str) -> None:
        self._live += change
        self._categories[category] += change
        self._events += 1
        if self._live > self._peak:
            self._peak, self._peak_categories = self._live, dict(self._categories)
        if self.recording:
            self.timeline.append((self._events, self._live))

    def _give_back(self, arena: Arena | SystemBuffers, key: int) -> None:
        # Called from __del__, at any point of any thread, even inside `empty` by the garbage collector: so it never
        # waits for the lock, and whoever holds it drains the queue.
        self._returned.append((arena, key))
        self._drain_if_free()

    def _drain_if_free(self) -> None:
        while self._returned and self._lock.acquire(blocking=False):
            try:
                self._drain()
            finally:
                self._lock.release()

    def _drain(self) -> None:
        while self._returned:
            arena, key = self._returned.popleft()
            if arena is self._arena:  # else it outlived free_all, and goes with its own arena
                size, category = self._held.pop(key)
                arena.give(key, size)
                self._account(-size, category)

    def assign(self, array: np.ndarray, category: str) -> None:
        """Accounts temporary storage under `array` to another category; any other storage is left where it is."""
        block = owner(array)
        if block is None or block.arena is not self._arena:
            return
        with self._lock:
            size, before = self._held[block.key]
            if before == "temporary":
                self._held[block.key] = size, category
                self._categories[before] -= size
                self._categories[category] += size

    @property
    def live_bytes(self) -> int:
        self._drain_if_free()
        return self._live

    @property
    def peak_bytes(self) -> int:
        return self._peak

    @property
    def reserved_bytes(self) -> int:
        return self._arena.high_water if self._arena is not None else 0

    @property
    def category_bytes(self) -> dict[str, int]:
        self._drain_if_free()
        return dict(self._categories)

    @property
    def peak_category_bytes(self) -> dict[str, int]:
        return dict(self._peak_categories)

    def reset_peak(self) -> None:
        """The peak starts again from what is live now, and the timeline from nothing."""
        self._drain_if_free()
        self._peak, self._peak_categories = self._live, dict(self._categories)
        self.timeline = []

    def free_all(self) -> None:
        """Forgets the arena: nothing is live, nothing reserved. Arrays still in use keep the old one until they end."""
        with self._lock:
            self._returned.clear()
            self._start_over()


def owner(array: np.ndarray) -> Block | None:
    """The block under an array or view, or None where the storage is not a pool's."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, Block) else None


_current: Pool | None = None


def current() -> Pool:
    """The pool in use; one without a budget is made when there is none."""
    global _current
    _current = _current or Pool()
    return _current


@contextmanager
def use(pool: Pool) -> Iterator[Pool]:
    """Makes `pool` the current one inside the block."""
    global _current
    before, _current = _current, pool
    try:
        yield pool
    finally:
        _current = before


def empty(shape, dtype, category: str = "temporary") -> np.ndarray:
    """An array of undefined content from the current pool."""
    return current().empty(shape, dtype, category)


def zeros(shape, dtype, category: str = "temporary") -> np.ndarray:
    """An array of zeros from the current pool."""
    return current().zeros(shape, dtype, category)
