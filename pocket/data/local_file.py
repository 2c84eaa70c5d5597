"""Finding a file of a public data set on this machine before asking the network for it."""

import os
from collections.abc import Sequence
from pathlib import Path

from pocket.mistake import Mistake


def pocket_data() -> Path | None:
    """The folder that the environment variable POCKET_DATA names, or None. Mistake when there is no such folder."""
    named = os.environ.get("POCKET_DATA")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise Mistake(f"POCKET_DATA is {named!r}, wanted an existing folder; set it right or unset it")
    return folder


def find(names: Sequence[str], subfolders: Sequence[str], others: Sequence[Path] = ()) -> Path | None:
    """The first file called one of `names`: in POCKET_DATA, in its `subfolders`, then in the folders `others`."""
    root = pocket_data()
    own = [root, *(root / subfolder for subfolder in subfolders)] if root else []
    candidates = (folder / name for folder in [*own, *others] for name in names)
    return next((path for path in candidates if path.is_file()), None)
