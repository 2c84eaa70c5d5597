"""Which code tables, plots and the page depend on: when it changes, they are made again, and no run is."""

import hashlib
from pathlib import Path

_ENDINGS = (".py", ".cu", ".cuh", ".json", ".j2", ".css", ".js")


def digest() -> str:
    """SHA-256 over names and contents of all our files: the harness's, which draw and judge, and the trainers', since a
    change there makes records stale, and tables and page say which are."""
    folder = Path(__file__).parents[2]
    found = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in _ENDINGS):
        content = path.read_bytes()
        found.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()
