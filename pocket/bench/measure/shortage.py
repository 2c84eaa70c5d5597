"""Running out of memory, told in numbers: at which update, how much was asked for, how much was live."""

import re
from typing import Any, NamedTuple


class Shortage(NamedTuple):
    """What an exception says of missing memory; a number that it does not say is None."""

    asked_bytes: int | None
    live_bytes: int | None
    message: str
    status: str = "oom_device"  # of the record: a run on a GPU can run out of the host's memory, too

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


# CUDA itself, cuDNN and cuBLAS want memory past PyTorch's allocator, and say so in their own words.
_DEVICE_SAYS = ("CUDA error: out of memory", "CUDNN_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_ALLOC_FAILED")
_HOST_SAYS = "DefaultCPUAllocator"


def told(problem: BaseException, live_bytes: int | None = None, device: str = "cpu") -> Shortage | None:
    """The shortage behind an exception, None when it is something else.

    Known: MemoryError of Python and NumPy, anything with `asked_bytes` and `live_bytes` (a pool, a budget), PyTorch's
    OutOfMemoryError on a GPU, the RuntimeError of its CPU allocator, and what CUDA, cuDNN and cuBLAS say of a full GPU.
    In a run on a GPU, what only the host can have refused is a shortage of the host.
    """
    text = str(problem)
    on_device = type(problem).__name__ == "OutOfMemoryError" or any(words in text for words in _DEVICE_SAYS)
    if not (isinstance(problem, MemoryError) or on_device or _HOST_SAYS in text):
        return None
    of_host = device == "cuda" and not on_device and not hasattr(problem, "asked_bytes")
    return Shortage(
        getattr(problem, "asked_bytes", None) or _asked(text),
        None if of_host else getattr(problem, "live_bytes", live_bytes),
        text.strip().splitlines()[0] if text else "",
        "oom_host" if of_host else "oom_device",
    )


def _asked(text: str) -> int | None:
    found = re.search(
        r"[Tt]ried to allocate ([\d.]+) (bytes|[KMGTPE]iB)|[Uu]nable to allocate ([\d.]+) ([KMGTPE]iB|bytes)", text
    )
    if not found:
        return None
    number, unit = (found[1], found[2]) if found[1] else (found[3], found[4])
    return round(float(number) * _UNITS[unit])
