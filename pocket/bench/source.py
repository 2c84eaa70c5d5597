"""Which code a run used: a digest of its trainer, its data and initial weights, the contract and what measured it."""

import functools
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]
TRAINER_FOLDERS = {"engine": "engine", "torch": "baseline"}
# What decides a number of a run: all of `measure` and `machine`, some of the supervisor, and the table of settings, as
# a pair's defaults are not in its id. How runs are otherwise planned, recorded or shown is no part of it.
SETTINGS = "plan/setting.py"
MEASURING = ("conductor", "supervise", "worker", "watch", "allocator", "compose", "process", "ending")  # supervisor
DRAWING = ("initialise", "models", "nn", "weights")  # of the engine: initial weights, their names and shapes
CODE = (".py", ".cu", ".cuh")


def digest(settings: Mapping[str, Any]) -> dict[str, Any]:
    """`{"digest", "parts"}` of the code that a run of these settings uses, as its files stand now.

    `parts` has `data`, `weights`, `contract`, `measuring`, and `trainer <name>` for each. SHA-256: names, contents.
    """
    parts = {
        "contract": _of_files((PACKAGE / "contract.py",)),
        "data": data(),
        "weights": _drawing(),
        "measuring": _of_files(_measuring()),
    }
    for name in sorted(_trainers(settings)):
        parts[f"trainer {name}"] = _of_folder(TRAINER_FOLDERS[name]) if name in TRAINER_FOLDERS else "none"
    whole = json.dumps(parts, sort_keys=True).encode("ascii")
    return {"digest": hashlib.sha256(whole).hexdigest(), "parts": parts}


def data() -> str:
    """Digest of the code that prepares data: when it changes, prepared data are made anew."""
    return _of_folder("data")


def weights() -> str:
    """Digest of the code that initial weights come from: what draws them, and what prepares the data they fit."""
    return hashlib.sha256(f"{data()} {_drawing()}".encode("ascii")).hexdigest()


def is_stale(record: Mapping[str, Any]) -> bool:
    """Whether the code that made this record has changed since."""
    return record["code"]["digest"] != digest(record["settings"])["digest"]


def _trainers(settings: Mapping[str, Any]) -> set[str]:
    opponent = settings.get("opponent") or {}
    return {settings["trainer"], opponent.get("trainer", settings["trainer"])}


def _measuring() -> tuple[Path, ...]:
    folder = PACKAGE / "bench"
    whole = [path for room in ("machine", "measure") for path in sorted((folder / room).glob("*.py"))]
    return (*whole, folder / SETTINGS, *(folder / "supervisor" / f"{name}.py" for name in MEASURING))


def _drawing() -> str:
    return _of_files(PACKAGE / "engine" / f"{name}.py" for name in DRAWING)


def digest_of(folder: str) -> str:
    """SHA-256 over the code files of one folder of the package."""
    return _of_folder(folder)


@functools.cache
def _of_folder(name: str) -> str:
    return _of_files(sorted(path for path in (PACKAGE / name).rglob("*") if path.suffix in CODE))


def _of_files(paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        found.update(f"{path.relative_to(PACKAGE).as_posix()} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()
