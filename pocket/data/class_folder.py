"""Scanning a folder that holds one folder of pictures a class."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pocket.mistake import Mistake

SUFFIXES = {".bmp", ".gif", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
DEBRIS = {"thumbs.db", "desktop.ini"}  # what file managers leave behind


@dataclass(frozen=True)
class ClassFolders:
    """The pictures of each class, and what a reader must know about the rest."""

    files: dict[str, list[Path]]  # class name -> its files; both sorted by code point, so the same on every machine
    notes: list[str]


def scan(root: Path) -> ClassFolders:
    """The class folders of `root`.

    Hidden names (a leading dot) are passed over. A class without a picture gets no label and is named in the notes,
    and so is what is neither hidden nor a picture. Class names are compared in Unicode's composed form, since some
    systems store names decomposed. Mistake when `root` is no folder, or holds no picture in any class folder.
    """
    if not root.is_dir():
        raise Mistake(f"{root} is no folder; wanted folder:PATH with one folder of pictures a class")
    files: dict[str, list[Path]] = {}
    notes: list[str] = []
    for folder in sorted(path for path in _visible(root) if path.is_dir()):
        name = unicodedata.normalize("NFC", folder.name)
        pictures = [path for path in _visible(folder) if path.is_file() and path.suffix.lower() in SUFFIXES]
        if name in files:
            raise Mistake(f"{root}: two folders are called {name!r} (composed and decomposed letters); rename one")
        if pictures:
            files[name] = sorted(pictures)
        else:
            notes.append(f"{folder}: no picture in it, so {name!r} is no class")
        notes += _left_out(folder)
    if not files:
        raise Mistake(f"{root}: no class folder with a picture in it; wanted {root}/<class>/<picture>")
    return ClassFolders(dict(sorted(files.items())), notes)


def _visible(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if not path.name.startswith(".") and path.name.lower() not in DEBRIS)


def _left_out(folder: Path) -> list[str]:
    others = [path for path in _visible(folder) if path.is_dir() or path.suffix.lower() not in SUFFIXES]
    if not others:
        return []
    return [f"{folder}: {len(others)} entries are no pictures by their names, first {min(others).name!r}"]
