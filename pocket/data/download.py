"""Fetching one checksummed file from mirrors, with the standard library alone."""

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from pocket.mistake import Mistake

CHUNK_BYTES = 1 << 20


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(
    urls: Sequence[str], checksum: str, size: int, destination: Path, tries: int = 2, timeout: float = 20
) -> None:
    """Downloads to `destination`; each mirror in turn, the whole row at most `tries` times.

    The bytes go to a file of this process beside the destination and are renamed when their SHA-256 is right. A wrong
    or cut file is deleted; no other file is touched. Reading stops above `size` bytes. Mistake, in one line, when no
    mirror served.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    partial = destination.with_name(f".{destination.name}.{os.getpid()}.part")
    failures = []
    for url in [*urls] * tries:
        try:
            _save(url, partial, size, timeout)
            if (came := sha256(partial)) == checksum:
                partial.replace(destination)
                return
            failures.append(f"{url}: checksum {came[:12]}…, wanted {checksum[:12]}…")
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
            failures.append(f"{url}: {getattr(error, 'reason', None) or error}")
        finally:
            partial.unlink(missing_ok=True)
    raise Mistake(
        f"{destination.name} could not be downloaded ({len(failures)} tries; {'; '.join(failures[-len(urls) :])}); "
        f"put the file into a folder and name that folder in the environment variable POCKET_DATA"
    )


def _save(url: str, partial: Path, size: int, timeout: float) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": "pocketnn"})  # some mirrors refuse Python's own
    with urllib.request.urlopen(request, timeout=timeout) as answer, partial.open("wb") as file:
        received = 0
        while chunk := answer.read(CHUNK_BYTES):
            received += len(chunk)
            if received > size:
                raise ValueError(f"more than the {size} bytes of the right file")
            file.write(chunk)
