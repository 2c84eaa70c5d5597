"""How a run ended, as a status of its record and one line of reason."""

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple


class Ending(NamedTuple):
    status: str
    reason: str | None
    detail: str | None


def of_worker(
    exit_status: int, result: Mapping[str, Any] | None, printed: str | None, updates: int, kernel_kills: int | None
) -> Ending:
    """The ending that nobody here brought about.

    exit_status: negative for a signal. result: the worker's last message, None when it ended without one. updates: how
    many it had done. kernel_kills: how many processes the kernel killed for memory during the run, None where
    it does not say: only then is it guessed what a SIGKILL from outside was for.
    """
    if result is not None and result["status"] != "stopped":
        return Ending(result["status"], result["reason"], result["detail"])
    if result is not None:
        return Ending("killed", f"SIGTERM came from outside: {result['reason']}", None)
    if exit_status in (-signal.SIGKILL, 128 + signal.SIGKILL):
        status, why = _killed(kernel_kills)
        return Ending(status, f"killed from outside by SIGKILL after {updates} updates: {why}", printed)
    if exit_status < 0:
        return Ending(
            "error", f"the worker was ended by {signal.Signals(-exit_status).name} after {updates} updates", printed
        )
    return Ending("error", f"the worker ended with status {exit_status} and without a result", printed)


def _killed(kernel_kills: int | None) -> tuple[str, str]:
    if kernel_kills is None:
        return "oom_host", "most likely for want of host memory, which cannot be told from a kill by hand here"
    if kernel_kills > 0:
        return "oom_host", "the kernel killed a process for memory during the run"
    return "killed", "by hand or by another program, since the kernel killed nothing for memory during the run"


def kernel_kills() -> int | None:
    """Processes that the kernel has killed for memory since it started, in every container of this machine; None where
    it does not say."""
    try:
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    except (OSError, ValueError):
        pass
    return None
