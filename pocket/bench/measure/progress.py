"""How far a run has come: a page of memory that the worker writes and the supervisor reads, at no cost to a step."""

import mmap
import os
import struct

STARTING, WARMING, TRAINING, SCORING = range(4)
_LAYOUT = struct.Struct("=qq")


class Progress:
    """A page shared through a file number: the phase and the updates done."""

    def __init__(self, file_number: int):
        self._page = mmap.mmap(file_number, mmap.PAGESIZE)

    def tell(self, phase: int, updates: int) -> None:
        _LAYOUT.pack_into(self._page, 0, phase, updates)

    def read(self) -> tuple[int, int]:
        """Phase, updates done."""
        return _LAYOUT.unpack_from(self._page, 0)


def new_page() -> int:
    """The file number of a fresh page, for a child to inherit."""
    number = os.memfd_create("pocket-progress")
    os.ftruncate(number, mmap.PAGESIZE)
    return number
