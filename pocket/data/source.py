"""The data sets by name."""

import difflib
from collections.abc import Callable
from pathlib import Path

from pocket.data import cifar10, color_digits, digits, fashion_mnist, folder, tabular
from pocket.data.raw import Raw
from pocket.mistake import Mistake

SOURCES: dict[str, Callable[[Path], Raw]] = {
    "digits": lambda downloads: digits.read(),
    "color_digits": lambda downloads: color_digits.read(),
    "fashion_mnist": fashion_mnist.read,
    "cifar10": cifar10.read,
    "tabular": lambda downloads: tabular.read(),
}
FOLDER = "folder:"


def read_source(dataset: str, downloads: Path, strict: bool) -> Raw:
    """What the source called `dataset` holds. Mistake for an unknown name: lists the known ones and suggests the
    nearest.
    """
    try:
        return _read(dataset, downloads, strict)
    except OSError as error:
        raise Mistake(f"dataset {dataset!r} cannot be read ({error})") from error


def _read(dataset: str, downloads: Path, strict: bool) -> Raw:
    if dataset.startswith(FOLDER):
        return folder.read(Path(dataset.removeprefix(FOLDER)).expanduser(), strict)
    if dataset not in SOURCES:
        near = difflib.get_close_matches(dataset, SOURCES, 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise Mistake(f"dataset {dataset!r} is not known{hint}; wanted one of {', '.join(SOURCES)}, folder:PATH")
    return SOURCES[dataset](downloads)
