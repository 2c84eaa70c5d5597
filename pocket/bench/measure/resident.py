"""A process's memory as the operating system counts it: resident bytes now and at the highest, from /proc."""

import os
import re
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def now(pid: int | str = "self") -> int:
    """Resident bytes of a process, 0 when there is none of that number."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * PAGE_BYTES
    except (OSError, IndexError):
        return 0


def highest(pid: int | str = "self") -> int | None:
    """The most resident bytes since the process began, or since `forget`; None where /proc does not say."""
    try:
        found = re.search(rb"VmHWM:\s*(\d+) kB", Path(f"/proc/{pid}/status").read_bytes())
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


def forget(pid: int | str = "self") -> bool:
    """Let `highest` start again from what is resident now; False where the system forbids it."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_bytes(b"5")
    except OSError:
        return False
    return True


class ResidentPeak:
    """This process's peak over the stretches that count: after warm-up, and never while it is scored.

    The kernel keeps the peak itself, so that no moment between two samples is missed.
    """

    def __init__(self) -> None:
        self._peak: int | None = None
        self.counting = False

    def begin(self) -> None:
        """A stretch begins here."""
        self.counting = forget()

    def end(self) -> None:
        """The stretch ends here."""
        if self.counting:
            self._peak = max(self._peak or 0, highest() or 0) or None
        self.counting = False

    @property
    def peak_bytes(self) -> int | None:
        """Over the stretches so far; None when none was counted."""
        return self._peak
