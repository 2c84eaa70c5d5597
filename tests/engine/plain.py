"""Kernels as plain Python: nothing is translated, so a changed function takes effect at once.

Register tiles are computed by NumPy from the same addresses, and an address outside its array is an error instead of a
crash. Work is split over two threads' shares, one after the other, and strips are two or three rows long, so that small
inputs take every path that large ones do.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from unittest.mock import patch

import numpy as np

from pocket.engine import kernels, memory, ops
from pocket.engine.kernels import compile as compiling
from pocket.engine.kernels import cpu_tile, threads

# How much a loop takes at once, wherever a module names it; short enough that small inputs take several turns.
SHORT = {"ROWS_AT_ONCE": 3, "PIXELS_AT_ONCE": 8, "STRIP_BYTES": 1000, "CHUNK": 16}


def modules() -> list[ModuleType]:
    """Every module of the operators and of the kernels."""
    found = [(package, entry.name) for package in (ops, kernels) for entry in pkgutil.iter_modules(package.__path__)]
    return [importlib.import_module(f"{package.__name__}.{name}") for package, name in found]


def forget_cached() -> None:
    """Empty every cache of a module, so that a changed function is called again."""
    for module in modules():
        for part in vars(module).values():
            if hasattr(part, "cache_clear"):
                part.cache_clear()


@contextmanager
def plain_python(pool_bytes: int = 1 << 26) -> Iterator[None]:
    """Inside the block every kernel runs as plain Python, on arrays of a pool of its own."""
    pool = memory.Pool(capacity_bytes=pool_bytes)
    with ExitStack() as changes:
        changes.enter_context(memory.use(pool))
        changes.enter_context(patch.object(compiling.Kernel, "__call__", lambda kernel, *a: kernel.plain(*a)))
        changes.enter_context(patch.object(compiling.Late, "__call__", _tile, create=True))
        changes.enter_context(patch.object(threads, "over", _over))
        changes.enter_context(patch.object(threads, "count", lambda: 2))
        for module in modules():
            for name in SHORT.keys() & vars(module).keys():
                changes.enter_context(patch.object(module, name, SHORT[name]))
        yield


def _over(items, work, smallest=1):
    half = items // 2
    work(0, half, 0)
    work(half, items, 1)


def _tile(late, like, x, x_p, x_o, x_i, outer, inner, w, w_o, w_i, start, start_p, out, out_p):
    """out[p, c] = start[p, c] + sum over o, i of x[p, o, i] w[o, i, c]; steps in bytes. Both tiles compute this."""
    if late not in (cpu_tile.tile_of_pixels, cpu_tile.tile_of_weights):
        raise NotImplementedError("a machine-code kernel without its NumPy counterpart here: add it to plain.py")
    size, width = like.itemsize, cpu_tile.block(like.dtype)
    xs = _at(x, (cpu_tile.TILE, outer, inner), (x_p, x_o, x_i), like.dtype)
    ws = _at(w, (outer, inner, width), (w_o, w_i, size), like.dtype)
    begin = _at(start, (cpu_tile.TILE, width), (start_p, size), like.dtype)
    _at(out, (cpu_tile.TILE, width), (out_p, size), like.dtype)[...] = begin + np.tensordot(xs, ws, 2)


def _at(address, shape, steps, dtype):
    """The array at an address of the pool. IndexError where it would leave the block that owns the address."""
    pool = memory.current()
    arena = pool._arena
    shape, steps = tuple(map(int, shape)), tuple(map(int, steps))
    first = int(address) - arena._start
    block = max((offset for offset in pool._held if offset <= first), default=0)
    end = block + pool._held.get(block, (0, ""))[0]
    ends = [(side - 1) * step for side, step in zip(shape, steps, strict=True)]
    lowest, highest = first + sum(min(0, end) for end in ends), first + sum(max(0, end) for end in ends)
    if min(shape) < 1 or lowest < block or highest + dtype.itemsize > end:
        raise IndexError(
            f"address {first} of shape {shape}, steps {steps} leaves the bytes {block}..{end} of its array"
        )
    return np.ndarray(shape, dtype, arena._view, first, steps)
