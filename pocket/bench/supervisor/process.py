"""Processes as /proc shows them: who descends from whom, how much memory they hold, and their end."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 1, 36, 37
TOKEN = "POCKET_RUN_TOKEN"  # marks every process of a run through its environment, wherever it hides


class Identity(NamedTuple):
    """A process for good: its number may be given to another one later, number and start time together never are."""

    pid: int
    started: int  # clock ticks since boot


class Line(NamedTuple):
    """What /proc/<pid>/stat says of one process."""

    parent: int
    session: int
    started: int
    state: str


def look(pid: int) -> Line | None:
    """One process, or None when there is none of that number."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split()  # the name may hold blanks and brackets
    return Line(int(fields[1]), int(fields[3]), int(fields[19]), fields[0].decode())


def table() -> dict[int, Line]:
    """Every process that we may see."""
    lines = ((int(name), look(int(name))) for name in os.listdir("/proc") if name.isdigit())
    return {pid: line for pid, line in lines if line is not None}


def identity(pid: int) -> Identity | None:
    line = look(pid)
    return Identity(pid, line.started) if line else None


def lives(process: Identity) -> bool:
    """Whether that very process still runs (a zombie does not)."""
    line = look(process.pid)
    return line is not None and line.started == process.started and line.state not in "ZX"


def descendants(root: int, processes: dict[int, Line] | None = None) -> set[int]:
    """Children, their children, and so on."""
    processes = table() if processes is None else processes
    found: set[int] = set()
    newest = {root}
    while newest:
        newest = {pid for pid, line in processes.items() if line.parent in newest and pid not in found}
        found |= newest
    return found


def marked(token: str) -> set[int]:
    """Processes whose environment carries this token: also those that left the tree and their session."""
    wanted = f"{TOKEN}={token}".encode()
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    found.add(int(name))
    return found


def ancestor(named: str) -> Identity | None:
    """The nearest process above this one with `named` as the file name of its program or script, if any."""
    pid = os.getppid()
    while pid > 1:
        line = look(pid)
        if line is None:
            return None
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:4]
            if any(Path(word).name == named for word in words) and Path(words[0]).name not in ("sh", "bash", "dash"):
                return Identity(pid, line.started)
        pid = line.parent
    return None


def control(option: int, argument: int) -> bool:
    """prctl(2) with one number; False where the system has no such thing."""
    try:
        return ctypes.CDLL(None, use_errno=True).prctl(option, argument, 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False


def adopt_orphans(wanted: bool = True) -> None:
    """Grandchildren whose parent ends become our children, so that none can leave the tree."""
    control(PR_SET_CHILD_SUBREAPER, int(wanted))


def die_with_parent(parent: int) -> None:
    """End this process when `parent` ends, however it ends; at once if it has ended already."""
    control(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def kill_all(find: Callable[[], Iterable[int]], within_seconds: float = 5.0) -> set[int]:
    """SIGKILL what `find` finds until it finds nothing that runs; returns what would not end."""
    end = time.monotonic() + within_seconds
    while True:
        left = {pid for pid in find() if (line := look(pid)) and line.state not in "ZX"}
        if not left or time.monotonic() > end:
            return left
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def children() -> set[int]:
    """This process's children."""
    return {pid for pid, line in table().items() if line.parent == os.getpid()}


def reap(keep: Iterable[int]) -> None:
    """Collect ended children that we adopted, except `keep`, whose status somebody else wants."""
    for pid in children() - set(keep):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
