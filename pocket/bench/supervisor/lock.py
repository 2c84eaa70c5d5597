"""One run at a time on a device: a lock that the kernel releases however its holder ends."""

import contextlib
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pocket.mistake import Mistake

POLL_SECONDS = 0.05


class DeviceLock:
    """An flock on a file named after the device, in a folder of this user outside the results.

    `acquire` waits for another run to end. `file_number` may be handed to a child, which then holds the lock too.
    """

    def __init__(self, device: str):
        """`device`: "cpu", or a GPU's UUID."""
        name = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in device)
        self.path = folder() / f"{name}.lock"
        self.file_number: int | None = None

    def acquire(self, note: str, waiting: Callable[[str], bool] = lambda holder: True) -> bool:
        """Take the lock and write `note` into its file. While another holds it, `waiting(its note)` is asked again and
        again; the answer False gives up, and `acquire` returns False. Raises Mistake when the file cannot be made."""
        try:
            number = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as problem:
            raise Mistake(f"cannot lock {self.path}: {problem.strerror}; set XDG_RUNTIME_DIR to a folder") from problem
        while not _locked(number):
            if not waiting(os.pread(number, 200, 0).decode(errors="replace").strip()):
                os.close(number)
                return False
            time.sleep(POLL_SECONDS)
        os.ftruncate(number, 0)
        os.pwrite(number, note.encode(errors="replace")[:200], 0)
        self.file_number = number
        return True

    def release(self) -> None:
        """Give the lock back; a child that was handed `file_number` keeps it until its own end."""
        if self.file_number is not None:
            os.close(self.file_number)
            self.file_number = None


def folder() -> Path:
    """Where this user's locks lie: below XDG_RUNTIME_DIR, or else the folder for temporary files. Made when absent.

    Raises Mistake when somebody else owns it.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    top = Path(runtime) if runtime and os.access(runtime, os.W_OK) else Path(tempfile.gettempdir())
    path = top / f"pocketnn-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise Mistake(f"{path} is no folder of user {os.getuid()}; remove it or set XDG_RUNTIME_DIR")
    return path


def _locked(number: int) -> bool:
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
