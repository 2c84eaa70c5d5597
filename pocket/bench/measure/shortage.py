"""Running out of memory, told in numbers: at which update, how much was asked for, how much was live."""

import re
from typing import Any, NamedTuple


class Shortage(NamedTuple):
    """What an exception says of missing memory; a number that it does not say is None."""

    asked_bytes: int | None
    live_bytes: int | None
    message: str

    def values(self, update: int) -> dict[str, Any]:
        """As the record keeps it: `update` is the number (from 0) of the update that found no room."""
        found: dict[str, Any] = {"update": update}
        for name, number in (("asked_bytes", self.asked_bytes), ("live_bytes", self.live_bytes)):
            found[name] = number
            if number is None:
                found[f"{name}_reason"] = "the error does not say"
        return found

    def reason(self, update: int) -> str:
        """One line."""
        asked = "an unknown number of" if self.asked_bytes is None else f"{self.asked_bytes:,}"
        live = "an unknown number" if self.live_bytes is None else f"{self.live_bytes:,}"
        return f"out of memory at update {update}: asked for {asked} bytes while {live} were live"


_UNITS = {
    "": 1,
    "bytes": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
    "PiB": 1 << 50,
    "EiB": 1 << 60,
}


def told(problem: BaseException, live_bytes: int | None = None) -> Shortage | None:
    """The shortage behind an exception, None when it is something else.

    Known: MemoryError of Python and NumPy, anything with `asked_bytes` and `live_bytes` (a pool, a budget), PyTorch's
    OutOfMemoryError on a GPU and the RuntimeError of its CPU allocator.
    """
    text = str(problem)
    torch_refused = type(problem).__name__ == "OutOfMemoryError" or "DefaultCPUAllocator" in text
    if not isinstance(problem, MemoryError) and not torch_refused:
        return None
    live = getattr(problem, "live_bytes", live_bytes)
    return Shortage(
        getattr(problem, "asked_bytes", None) or _asked(text), live, text.strip().splitlines()[0] if text else ""
    )


def _asked(text: str) -> int | None:
    found = re.search(
        r"[Tt]ried to allocate ([\d.]+) (bytes|[KMGTPE]iB)|[Uu]nable to allocate ([\d.]+) ([KMGTPE]iB|bytes)", text
    )
    if not found:
        return None
    number, unit = (found[1], found[2]) if found[1] else (found[3], found[4])
    return round(float(number) * _UNITS[unit])
