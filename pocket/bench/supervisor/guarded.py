"""Starts the guard of a run (see `guard.py`) and lets it go when the run has ended."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from pocket.bench.supervisor.lock import DeviceLock


@contextlib.contextmanager
def guarded(token: str, lock: DeviceLock) -> Iterator[int]:
    """While inside, a guard watches over this process and shares its lock; gives the guard's process number."""
    alive, mine = os.pipe()
    kept = (alive,) if lock.file_number is None else (alive, lock.file_number)
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", Path(__file__).with_name("guard.py"), token, str(alive)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=kept,
    )
    os.close(alive)
    try:
        yield guard.pid
    finally:
        with contextlib.suppress(BrokenPipeError):
            os.write(mine, b".")
        os.close(mine)
        guard.wait()
