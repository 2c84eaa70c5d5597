"""One Snakemake at a time on a results folder: an flock that the kernel releases however its holder ends.

Snakemake's own lock files stay behind after a kill and hold no pid, so nothing tells a dead instance from a living one.
This lock does. It is held by `pocket bench make` and by its Snakemake, and by a Snakemake started by hand, but never by
a run: Snakemake starts those with their file numbers closed, so that an orphan does not keep the folder locked.
"""

import fcntl
import os
from pathlib import Path

from pocket.mistake import Mistake

HELD = "POCKET_RESULTS_HELD"  # tells a Snakemake that whoever started it passed the lock on


def hold(results: Path) -> int:
    """Take the lock until this process ends, and return its file number.

    Raises Mistake when the folder cannot be written or is held.
    """
    path = results / ".lock"
    try:
        results.mkdir(parents=True, exist_ok=True)
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise Mistake(f"cannot write {path}: {error.strerror}; choose another folder with --results") from None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(number, 100, 0).decode(errors="replace").strip() or "another process"
        os.close(number)
        raise Mistake(f"{results} is being worked on by {holder}; wait until it ends, or end it") from None
    os.ftruncate(number, 0)
    os.pwrite(number, f"process {os.getpid()}".encode(), 0)
    return number


def hold_unless_held(results: Path) -> None:
    """For the Snakefile: take the lock, except under `pocket bench make`, which holds it already."""
    if os.environ.get(HELD) != str(results.resolve()):
        hold(results)
