"""Where a pool's storage comes from: one arena of address space, or buffers of their own."""

import bisect
import itertools
import mmap

import numpy as np

ALIGNMENT = 64
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  # named in Python only since 3.13; Linux's value


class Arena:
    """Best fit with coalescing over one reserved range. Offsets are in bytes from its start."""

    def __init__(self, capacity_bytes: int):
        self.high_water = 0  # nothing above was ever handed out, so no page above is memory
        self._map = mmap.mmap(-1, capacity_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            self._map.madvise(mmap.MADV_HUGEPAGE)  # a step touches every page: 2 MiB ones spare most page faults
        self._view = np.frombuffer(self._map, np.uint8)
        self._start = self._view.ctypes.data
        self._by_size: list[tuple[int, int]] = []
        self._size_from: dict[int, int] = {}
        self._start_before: dict[int, int] = {}
        self._insert(0, capacity_bytes)

    def take(self, size: int) -> tuple[int, int]:
        """The offset and the address of `size` bytes."""
        index = bisect.bisect_left(self._by_size, (size, 0))
        if index == len(self._by_size):
            raise MemoryError(
                f"no free range of {size:,} bytes is left in the arena; give the pool more capacity_bytes"
            )
        whole, offset = self._by_size[index]
        self._remove(offset, whole)
        if whole > size:
            self._insert(offset + size, whole - size)
        self.high_water = max(self.high_water, offset + size)
        return offset, self._start + offset

    def give(self, offset: int, size: int) -> None:
        """The range is free again, one with its free neighbours."""
        if after := self._size_from.get(offset + size):
            self._remove(offset + size, after)
            size += after
        before = self._start_before.get(offset)
        if before is not None:
            self._remove(before, offset - before)
            offset, size = before, size + offset - before
        self._insert(offset, size)

    def _insert(self, offset: int, size: int) -> None:
        bisect.insort(self._by_size, (size, offset))
        self._size_from[offset] = size
        self._start_before[offset + size] = offset

    def _remove(self, offset: int, size: int) -> None:
        del self._by_size[bisect.bisect_left(self._by_size, (size, offset))]
        del self._size_from[offset], self._start_before[offset + size]


class SystemBuffers:
    """Each buffer its own allocation, so that tracemalloc sees live bytes exactly; for untimed runs."""

    def __init__(self):
        self.high_water = 0  # the bytes held now: buffers that were given back are not kept
        self._buffers: dict[int, np.ndarray] = {}
        self._numbers = itertools.count()

    def take(self, size: int) -> tuple[int, int]:
        """The number and the address of a buffer of `size` bytes."""
        key = next(self._numbers)
        self._buffers[key] = buffer = np.empty(size + ALIGNMENT, np.uint8)
        self.high_water += size
        return key, -(-buffer.ctypes.data // ALIGNMENT) * ALIGNMENT

    def give(self, key: int, size: int) -> None:
        """The buffer is freed."""
        del self._buffers[key]
        self.high_water -= size
