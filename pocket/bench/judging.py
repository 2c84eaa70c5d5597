"""Which code makes tables, plots and the page: when it changes, they are made again, and no run is."""

import hashlib
from pathlib import Path

_ENDINGS = (".py", ".j2", ".css", ".js")


def digest() -> str:
    """SHA-256 over names and contents of the harness's files. It covers more than is needed, which costs seconds."""
    folder = Path(__file__).parent
    found = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in _ENDINGS):
        content = path.read_bytes()
        found.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()
