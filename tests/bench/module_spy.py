"""A worker that writes down which libraries it had imported when it ended."""

import os
import sys
from pathlib import Path

from pocket.bench import run

leave = os._exit


def note_and_leave(status: int) -> None:
    names = sorted({name.split(".")[0] for name in sys.modules})
    Path(os.environ["POCKET_TEST_MODULES"]).write_text(" ".join(names))
    leave(status)


if __name__ == "__main__":
    os._exit = note_and_leave
    run.main()
