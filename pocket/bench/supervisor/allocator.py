"""The C library's allocator: its thresholds as a setting of a run, and whether they took effect."""

import ctypes
from collections.abc import Mapping

PROBE_BYTES = 64 << 20
# Above the mmap threshold every request is mapped afresh and given back, page faults included; above the trim threshold
# free memory at the heap's end is given back. Raised, a step reuses what the last one left.
RAISED = {"MALLOC_MMAP_THRESHOLD_": str(1 << 32), "MALLOC_TRIM_THRESHOLD_": str(1 << 36)}
NAMES = (*RAISED, "MALLOC_TOP_PAD_", "MALLOC_MMAP_MAX_", "MALLOC_ARENA_MAX", "GLIBC_TUNABLES")


def environment(malloc: str, inherited: Mapping[str, str]) -> dict[str, str]:
    """`inherited` with the C library at its defaults, or with both thresholds raised. ValueError for other names."""
    kept = {name: value for name, value in inherited.items() if name not in NAMES}
    if malloc not in ("default", "raised"):
        raise ValueError(f"malloc is {malloc!r}; wanted 'default' or 'raised'")
    return kept | (RAISED if malloc == "raised" else {})


class _Mallinfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


def maps_large_requests() -> bool | None:
    """Whether a request of 64 MiB is mapped by itself, as glibc does by default; None where that cannot be told."""
    library = ctypes.CDLL(None)
    try:
        mallinfo, malloc, free = library.mallinfo2, library.malloc, library.free
    except AttributeError:
        return None
    mallinfo.restype = _Mallinfo
    malloc.restype, malloc.argtypes, free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    before = mallinfo().hblks
    address = malloc(PROBE_BYTES)
    try:
        return mallinfo().hblks > before
    finally:
        free(address)


def effect(malloc: str) -> dict[str, bool | str | None]:
    """For the record's `machine`: `malloc_raised`, whether the thresholds stand above 64 MiB, None with a reason."""
    mapped = maps_large_requests()
    if mapped is None:
        return {"malloc_raised": None, "malloc_raised_reason": "this C library has no mallinfo2"}
    found: dict[str, bool | str | None] = {"malloc_raised": not mapped}
    if mapped == (malloc == "raised"):
        found["malloc_reason"] = f"malloc: {malloc} was asked for, and the C library did otherwise"
    return found
