"""Which pictures of a user's folder are for training and which for testing, with their labels."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pocket.data.class_folder import scan
from pocket.mistake import Mistake

TEST_NAMES = ("test", "val", "valid", "validation")
TEST_SHARE = 5  # one in five is for testing where the folder has no split of its own
SPLIT_SEED = 0

Labelled = list[tuple[Path, int]]


@dataclass(frozen=True)
class ClassSplit:
    """Files with their labels: a label is the place of its class in `class_names`, the training split's classes."""

    class_names: tuple[str, ...]
    train: Labelled
    test: Labelled
    notes: list[str]


def split_classes(root: Path) -> ClassSplit:
    """PATH/train and PATH/test (or val, valid, validation) where they are, else a seeded draw within each class.

    Mistake when `root` is no folder, has `train` but nothing to test with, or has too few pictures to draw from.
    """
    if not (root / "train").is_dir():
        return _drawn(root)
    for name in TEST_NAMES:
        if (root / name).is_dir():
            return _given(root / "train", root / name)
    raise Mistake(f"{root}: has train/ but none of {', '.join(TEST_NAMES)}; add a folder of test pictures")


def _given(train_root: Path, test_root: Path) -> ClassSplit:
    train, test = scan(train_root), scan(test_root)
    names = tuple(train.files)
    notes = train.notes + test.notes
    for name in sorted(set(test.files) - set(names)):
        notes.append(f"{test_root}: class {name!r} has no training picture; its {len(test.files[name])} are left out")
    notes += [f"{test_root}: class {name!r} has no test picture" for name in names if name not in test.files]
    if not set(names) & set(test.files):
        raise Mistake(f"{test_root}: shares no class with {train_root}; both need the same class folders")
    train_files = [(path, label) for label, name in enumerate(names) for path in train.files[name]]
    test_files = [(path, label) for label, name in enumerate(names) for path in test.files.get(name, ())]
    return ClassSplit(names, train_files, test_files, notes)


def _drawn(root: Path) -> ClassSplit:
    found = scan(root)
    rng = np.random.default_rng(SPLIT_SEED)
    train: Labelled = []
    test: Labelled = []
    for label, files in enumerate(found.files.values()):
        drawn = set(rng.permutation(len(files))[: len(files) // TEST_SHARE].tolist())
        for place, path in enumerate(files):
            (test if place in drawn else train).append((path, label))
    if not test:
        raise Mistake(f"{root}: no class has {TEST_SHARE} pictures, so none can be kept for testing; add pictures")
    note = f"{root}: no split of its own; {len(test)} of {len(train) + len(test)} pictures were drawn for testing"
    return ClassSplit(tuple(found.files), train, test, [*found.notes, note])
