"""One run at a time on a device: a lock that the kernel releases however its holder ends."""

import contextlib
import errno
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pocket.mistake import Mistake

POLL_SECONDS = 0.05
SHARED = Path("/tmp/pocketnn-locks")
CHOSEN = "POCKET_LOCKS"


class DeviceLock:
    """An flock on a file named after the device, in one folder for every login of every user of this machine.

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
            number = _opened(self.path)
        except OSError as problem:
            raise Mistake(f"cannot lock {self.path}: {problem.strerror}; set {CHOSEN} to a folder") from problem
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
    """Where the locks lie: /tmp/pocketnn-locks, whoever asks and whatever the login's folder for temporary files is;
    where that cannot be, a folder of this user. POCKET_LOCKS names another one. Made when absent.

    Raises Mistake when the folder of this user belongs to somebody else.
    """
    chosen = os.environ.get(CHOSEN)
    if chosen is None and _everybodys(SHARED):
        return SHARED
    path = Path(chosen) if chosen else Path(tempfile.gettempdir()) / f"pocketnn-{os.getuid()}"
    with contextlib.suppress(OSError):
        path.mkdir(mode=0o700)
    if not path.is_dir() or path.is_symlink() or path.stat().st_uid != os.getuid():
        raise Mistake(f"{path} is no folder of user {os.getuid()}; remove it or set {CHOSEN} to a folder of yours")
    return path


def _everybodys(path: Path) -> bool:
    """Whether all users may lock there: a real folder, writable for all, where nobody removes another one's files."""
    before = os.umask(0)
    try:
        path.mkdir(mode=0o1777)
    except OSError:
        pass
    finally:
        os.umask(before)
    try:
        return stat.S_IFMT(mode := path.lstat().st_mode) == stat.S_IFDIR and stat.S_IMODE(mode) == 0o1777
    except OSError:
        return False


def _opened(path: Path) -> int:
    """A lock file that every user may open. It is made only where it is missing: in a folder of all, Linux refuses to
    open another user's file with O_CREAT. OSError for a link, and for anything that is no plain file of one name."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            number = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            found = os.fstat(number)
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                return number
            os.close(number)
            raise OSError(errno.EINVAL, "it is no plain file")
        with contextlib.suppress(FileExistsError):
            number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            os.fchmod(number, 0o666)
            return number


def _locked(number: int) -> bool:
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
