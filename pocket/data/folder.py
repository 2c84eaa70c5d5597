"""A user's own pictures: `folder:PATH`, one folder a class.

    PATH/train/<class>/*  and  PATH/test/<class>/*  (or val, valid, validation): the two splits
    PATH/<class>/*                                  one picture in five of each class is drawn for testing, seeded

Pictures are always read as RGB, grey ones too, so that a single one of another kind cannot change the shape of the
whole.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pocket.data.class_split import Labelled, split_classes
from pocket.data.picture import read_picture
from pocket.data.raw import Raw, Split
from pocket.mistake import Mistake


class Pictures(Sequence[np.ndarray]):
    """A sequence of pictures read from their files one at a time: a folder may be larger than memory."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = files

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index):  # an int; slices are not needed
        return read_picture(self.files[index])


def read(root: Path, strict: bool = False) -> Raw:
    """Both splits, uint8 H W 3 each and int64 N.

    Every file is decoded once beforehand, so that a bad one is known by its path before any training. strict: Mistake
    that names them all; otherwise they are left out and listed in `skipped`.
    """
    found = split_classes(root)
    skipped: list[dict[str, str]] = []
    train = _readable(found.train, skipped)
    test = _readable(found.test, skipped)
    if skipped and strict:
        listed = "; ".join(entry["reason"] for entry in skipped)
        raise Mistake(f"{len(skipped)} files cannot be read: {listed}; mend or remove them")
    for part, files in (("training", train), ("test", test)):
        if not files:
            raise Mistake(f"{root}: none of its {part} pictures can be read; first: {skipped[0]['reason']}")
    return Raw(
        train=_split(train),
        test=_split(test),
        task="classification",
        source=str(root),
        class_names=found.class_names,
        skipped=tuple(skipped),
        notes=tuple(found.notes + _lost_classes(found.class_names, found.train, train)),
    )


def _readable(files: Labelled, skipped: list[dict[str, str]]) -> Labelled:
    kept = []
    for path, label in files:
        try:
            read_picture(path)
        except Mistake as mistake:
            skipped.append({"path": str(path), "reason": str(mistake)})
        else:
            kept.append((path, label))
    return kept


def _lost_classes(names: Sequence[str], listed: Labelled, kept: Labelled) -> list[str]:
    lost = {label for _, label in listed} - {label for _, label in kept}
    return [f"class {names[label]!r}: none of its training pictures can be read" for label in sorted(lost)]


def _split(files: Labelled) -> Split:
    return Split(Pictures([path for path, _ in files]), np.array([label for _, label in files], dtype=np.int64))
