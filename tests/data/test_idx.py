import gzip
import struct

import numpy as np
import pytest

from pocket.data import idx
from pocket.mistake import Mistake

PIXELS = bytes(range(12))
IMAGES = struct.pack(">4i", 2051, 2, 2, 3) + PIXELS
LABELS = struct.pack(">2i", 2049, 2) + b"\x07\x03"


def read_file(tmp_path, content, dimensions=3):
    path = tmp_path / "images-idx3-ubyte"
    path.write_bytes(content)
    return idx.parse(idx.unpacked(path), str(path), dimensions)


def test_two_images(tmp_path):
    np.testing.assert_array_equal(read_file(tmp_path, IMAGES), np.arange(12).reshape(2, 2, 3))


def test_labels(tmp_path):
    assert read_file(tmp_path, LABELS, 1).tolist() == [7, 3]


def test_gzip_is_recognised_without_its_suffix(tmp_path):
    packed = gzip.compress(IMAGES)
    assert packed[:3] == b"\x1f\x8b\x08"
    np.testing.assert_array_equal(read_file(tmp_path, packed), np.arange(12).reshape(2, 2, 3))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (IMAGES[:10], "10 bytes, wanted an IDX header of 16"),
        (b"", "0 bytes, wanted an IDX header"),
        (IMAGES[:-1], "11 bytes after the header"),
        (IMAGES + b"x", "13 bytes after the header"),
        (struct.pack("<4i", 2051, 2, 2, 3) + PIXELS, "little-endian"),
        (LABELS + bytes(16), "starts with 2049, wanted the IDX magic number 2051"),
        (struct.pack(">4i", 2051, -2, -2, 3) + PIXELS, "after the header"),
        (gzip.compress(IMAGES)[:-10], "cut or damaged gzip"),
        (b"\x1f\x8b\x08\x08" + bytes(40), "cut or damaged gzip"),
        (b"<html>not found</html>", "wanted the IDX magic number 2051"),
    ],
)
def test_every_other_file_is_a_clear_error(tmp_path, content, words):
    with pytest.raises(Mistake, match=words) as caught:
        read_file(tmp_path, content)
    assert "images-idx3-ubyte" in str(caught.value)


def test_gzip_magic_read_as_a_number():
    with pytest.raises(Mistake, match="529205256"):
        idx.parse(b"\x1f\x8b\x08\x08" + bytes(40), "raw", 3)


def test_counts_must_agree():
    with pytest.raises(Mistake, match="2 images but 3 labels"):
        idx.pair(np.zeros((2, 2, 3), np.uint8), np.zeros(3, np.uint8), "train")
    x, y = idx.pair(np.zeros((2, 2, 3), np.uint8), np.array([7, 255], np.uint8), "train")
    assert x.shape == (2, 2, 3, 1)
    assert y.dtype == np.int64
    assert y.tolist() == [7, 255]
