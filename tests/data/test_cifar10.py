import io
import os
import pickle
import struct
import tarfile

import numpy as np
import pytest

from pocket.data import cifar10, restricted_pickle
from pocket.mistake import Mistake


def text(value: bytes) -> bytes:
    return b"T" + struct.pack("<i", len(value)) + value  # BINSTRING, as Python 2 wrote its strings


def array(x: np.ndarray) -> bytes:
    """The pickle of a uint8 array as NumPy of Python 2 wrote it, opcode by opcode."""
    shape = b"".join(b"J" + struct.pack("<i", n) for n in x.shape)
    kind = b"cnumpy\ndtype\n" + text(b"u1") + b"K\x00K\x01\x87R(K\x03" + text(b"|") + b"NNNJ\xff\xff\xff\xff"
    kind += b"J\xff\xff\xff\xffK\x00tb"
    empty = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + text(b"b") + b"\x87R"
    return empty + b"(K\x01(" + shape + b"t" + kind + b"\x89" + text(x.tobytes()) + b"tb"


def batch(x: np.ndarray, labels: list[int]) -> bytes:
    entries = (
        text(b"batch_label") + text(b"testing") + text(b"labels") + b"](" + b"".join(b"K" + bytes([y]) for y in labels)
    )
    return b"\x80\x02}(" + entries + b"e" + text(b"data") + array(x) + b"u."


def archive(path, files: dict[str, bytes]):
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


def rows(count: int, start: int) -> np.ndarray:
    return (np.arange(count * 3072).reshape(count, 3072) + start).astype(np.uint8)


@pytest.fixture
def files():
    parts = {f"cifar-10-batches-py/data_batch_{n}": batch(rows(2, n), [n, 9]) for n in range(1, 6)}
    return {**parts, "cifar-10-batches-py/test_batch": batch(rows(3, 77), [0, 4, 8])}


def test_planes_become_channels_and_files_follow_each_other(tmp_path, files):
    train, test = cifar10.read_archive(archive(tmp_path / "a.tar.gz", files))
    assert train.x.shape == (10, 32, 32, 3)
    assert train.x.dtype == np.uint8
    assert train.y.tolist() == [1, 9, 2, 9, 3, 9, 4, 9, 5, 9]
    assert train.y.dtype == np.int64
    row = rows(2, 1)[1]  # the second picture: pixel (2, 5), red then green then blue
    assert train.x[1, 2, 5].tolist() == [row[2 * 32 + 5], row[1024 + 2 * 32 + 5], row[2048 + 2 * 32 + 5]]
    assert test.y.tolist() == [0, 4, 8]


def test_an_array_of_this_numpy_reads_back():
    x = np.arange(6, dtype=np.uint8).reshape(2, 3)
    content = pickle.dumps({b"data": x}, protocol=3)
    np.testing.assert_array_equal(restricted_pickle.read(content, "file")[b"data"], x)


class Harmful:
    def __reduce__(self):
        return os.system, ("touch harmed",)


def test_a_pickle_that_calls_anything_else_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Mistake, match=r"names (posix|nt|os)\.system"):
        restricted_pickle.read(pickle.dumps({b"data": Harmful()}), "file")
    with pytest.raises(Mistake, match=r"names builtins\.eval"):
        restricted_pickle.read(b"cbuiltins\neval\n(Vprint(1)\ntR.", "file")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (batch(rows(2, 0), [1, 2])[:500], "not a readable data file"),
        (pickle.dumps([1, 2], protocol=2), "holds a list"),
        (batch(rows(2, 0)[:, :100], [1, 2]), "not rows of 3,072 bytes"),
        (batch(rows(2, 0), [1]), "labels are not one number"),
        (batch(rows(2, 0), [1, 10]), "labels are not one number"),
    ],
)
def test_a_damaged_part_is_named(tmp_path, files, content, words):
    files["cifar-10-batches-py/data_batch_3"] = content
    with pytest.raises(Mistake, match=f"data_batch_3.*{words}"):
        cifar10.read_archive(archive(tmp_path / "a.tar.gz", files))


def test_a_missing_part_and_a_cut_archive_are_named(tmp_path, files):
    path = archive(tmp_path / "a.tar.gz", files)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(Mistake, match=r"a\.tar\.gz: a cut or damaged archive"):
        cifar10.read_archive(path)
    del files["cifar-10-batches-py/data_batch_2"]
    with pytest.raises(Mistake, match="lacks cifar-10-batches-py/data_batch_2"):
        cifar10.read_archive(archive(tmp_path / "a.tar.gz", files))


def test_taken_from_pocket_data_if_it_is_the_published_one(tmp_path, monkeypatch, files):
    path = archive(tmp_path / cifar10.ARCHIVE, files)
    monkeypatch.setenv("POCKET_DATA", str(tmp_path))
    with pytest.raises(Mistake, match="not the published archive"):
        cifar10.read(tmp_path / "downloads")
    monkeypatch.setattr(cifar10, "ARCHIVE_SHA256", cifar10.sha256(path))
    assert len(cifar10.read(tmp_path / "downloads").train.y) == 10


def test_downloaded_where_it_is_not_here(tmp_path, monkeypatch, files):
    path = archive(tmp_path / "elsewhere.tar.gz", files)
    monkeypatch.delenv("POCKET_DATA", raising=False)
    monkeypatch.setattr(cifar10, "MIRRORS", [path.as_uri()])
    monkeypatch.setattr(cifar10, "ARCHIVE_SHA256", cifar10.sha256(path))
    assert len(cifar10.read(tmp_path / "downloads").test.y) == 3
    assert (tmp_path / "downloads" / cifar10.ARCHIVE).read_bytes() == path.read_bytes()
    path.unlink()
    assert len(cifar10.read(tmp_path / "downloads").test.y) == 3  # not asked for a second time
