"""A folder that appears complete or not at all."""

import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pocket.mistake import Mistake


@contextmanager
def whole_folder(destination: Path) -> Iterator[Path]:
    """Gives an empty folder beside `destination`, renamed to it at the end; an older `destination` is replaced then.

    When anything is raised inside, the folder is removed and `destination` stays as it was. What a killed process left
    behind is removed by the next one. Mistake when the place cannot be written.
    """
    partial = destination.with_name(f".{destination.name}.{os.getpid()}.partial")
    try:
        _remove_leftovers(destination)
        partial.mkdir(parents=True)
        yield partial
        _swap(partial, destination)
    except OSError as error:
        reason = error.strerror or str(error)
        raise Mistake(f"{destination} cannot be written ({reason}); make room or allow writing there") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _swap(partial: Path, destination: Path) -> None:
    old = destination.with_name(f".{destination.name}.{os.getpid()}.old.partial")
    if destination.exists():
        destination.rename(old)
    partial.rename(destination)
    shutil.rmtree(old, ignore_errors=True)


def _remove_leftovers(destination: Path) -> None:
    for leftover in destination.parent.glob(f".{glob.escape(destination.name)}.*.partial"):
        owner = leftover.name.removeprefix(f".{destination.name}.").split(".")[0]
        if owner.isdigit() and not _alive(int(owner)):
            shutil.rmtree(leftover, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
