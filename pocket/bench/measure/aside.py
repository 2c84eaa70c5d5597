"""Batches in memory of the harness's own, so that no account of a trainer's memory holds them."""

import mmap
from collections.abc import Callable, Iterator

import numpy as np

from pocket.contract import MicroBatch


def aside(batches: Callable[[int], Iterator[MicroBatch]]) -> Callable[[int], Iterator[MicroBatch]]:
    """The same batches, each array copied into mapped pages, which tracemalloc and PyTorch's allocator do not see."""

    def copied(epoch: int) -> Iterator[MicroBatch]:
        for batch in batches(epoch):
            x, y = _mapped(batch.x), _mapped(batch.y)
            group, last = batch.group_samples, batch.ends_group
            del batch
            yield MicroBatch(x, y, group, last)

    return copied


def _mapped(array: np.ndarray) -> np.ndarray:
    copy = np.frombuffer(mmap.mmap(-1, max(1, array.nbytes)), array.dtype, array.size).reshape(array.shape)
    copy[...] = array
    return copy
