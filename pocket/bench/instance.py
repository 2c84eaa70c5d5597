"""One Snakemake at a time on a results folder: an flock that the kernel releases however its holder ends.

Snakemake's own lock files stay behind after a kill and hold no pid, so nothing tells a dead instance from a living one.
This lock does. It is held by `pocket bench make` and by its Snakemake, and by a Snakemake started by hand, but never by
a run: Snakemake starts those with their file numbers closed, so that an orphan does not keep the folder locked.

Workflows on several results folders share one working folder, and with it Snakemake's lock files. Each of them holds a
shared lock there as well, so that whoever removes lock files knows that no living workflow made them.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from pocket.mistake import Mistake

WORKING_LOCK = Path(".snakemake") / "pocket.lock"
HELD = "POCKET_RESULTS_HELD"  # tells a Snakemake that whoever started it passed the lock on


def hold(results: Path) -> int:
    """Take the lock until this process ends, and return its file number.

    Raises Mistake when the folder cannot be written or is held.
    """
    number = _opened(results / ".lock", "choose another folder with --results")
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(number, 100, 0).decode(errors="replace").strip() or "another process"
        os.close(number)
        raise Mistake(f"{results} is being worked on by {holder}; wait until it ends, or end it") from None
    os.ftruncate(number, 0)
    os.pwrite(number, f"process {os.getpid()}".encode(), 0)
    return number


@contextlib.contextmanager
def holding(results: Path) -> Iterator[int]:
    """`hold` for as long as this lasts, and for as long as a process that was handed the file number lives."""
    number = hold(results)
    try:
        yield number
    finally:
        os.close(number)


def hold_working_folder(alone: bool) -> int | None:
    """The file number of the working folder's lock: shared by all workflows, or `alone` (None while others live)."""
    number = _opened(WORKING_LOCK, "Snakemake keeps its state there")
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB if alone else fcntl.LOCK_SH)
    except BlockingIOError:
        os.close(number)
        return None
    return number


def hold_unless_held(results: Path) -> None:
    """For the Snakefile: take both locks, except under `pocket bench make`, which holds them already."""
    if os.environ.get(HELD) != str(results.resolve()):
        hold(results)
        hold_working_folder(alone=False)


def _opened(path: Path, advice: str) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise Mistake(f"cannot write {path}: {error.strerror}; {advice}") from None
