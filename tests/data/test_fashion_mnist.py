import gzip
import hashlib
import struct

import numpy as np
import pytest

from pocket.data import fashion_mnist
from pocket.mistake import Mistake


def contents():
    made = {}
    for part, count in (("train", 3), ("t10k", 2)):
        made[f"{part}-images-idx3-ubyte"] = struct.pack(">4i", 2051, count, 28, 28) + bytes(range(256)) * 9 + bytes(48)
        made[f"{part}-images-idx3-ubyte"] = made[f"{part}-images-idx3-ubyte"][: 16 + count * 784]
        made[f"{part}-labels-idx1-ubyte"] = struct.pack(">2i", 2049, count) + bytes(range(count))
    return made


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Four tiny files in place of the published ones, with their checksums; nothing of the real set can be found."""
    made = contents()
    packed = {name: gzip.compress(content) for name, content in made.items()}
    sums = {
        name: (hashlib.sha256(packed[name]).hexdigest(), len(packed[name]), hashlib.sha256(content).hexdigest())
        for name, content in made.items()
    }
    monkeypatch.setattr(fashion_mnist, "FILES", sums)
    monkeypatch.setattr(fashion_mnist, "DEBIAN", tmp_path / "no such folder")
    monkeypatch.setattr(fashion_mnist, "MIRRORS", [(tmp_path / "mirror").as_uri() + "/"])
    monkeypatch.delenv("POCKET_DATA", raising=False)
    return made, packed


@pytest.mark.parametrize("form", ["packed", "plain", "packed but named plainly"])
@pytest.mark.parametrize("subfolder", ["", "fashion-mnist"])
def test_from_pocket_data(small, tmp_path, monkeypatch, form, subfolder):
    made, packed = small
    folder = tmp_path / "own" / subfolder
    folder.mkdir(parents=True)
    for name in made:
        file = folder / (f"{name}.gz" if form == "packed" else name)
        file.write_bytes(made[name] if form == "plain" else packed[name])
    monkeypatch.setenv("POCKET_DATA", str(tmp_path / "own"))
    raw = fashion_mnist.read(tmp_path / "downloads")
    assert raw.train.x.shape == (3, 28, 28, 1)
    assert raw.train.x[0, 0, :5, 0].tolist() == [0, 1, 2, 3, 4]
    assert raw.test.y.tolist() == [0, 1]
    assert not (tmp_path / "downloads").exists()


def test_downloaded_from_a_mirror(small, tmp_path):
    (tmp_path / "mirror").mkdir()
    for name, content in small[1].items():
        (tmp_path / "mirror" / f"{name}.gz").write_bytes(content)
    raw = fashion_mnist.read(tmp_path / "downloads")
    assert raw.train.y.tolist() == [0, 1, 2]
    assert len(list((tmp_path / "downloads").iterdir())) == 4


def test_nowhere_to_be_found_says_pocket_data(small, tmp_path):
    with pytest.raises(Mistake, match=r"train-images-idx3-ubyte\.gz could not be downloaded .*POCKET_DATA"):
        fashion_mnist.read(tmp_path / "downloads")


def test_a_changed_file_is_named(small, tmp_path, monkeypatch):
    for name, content in small[0].items():
        changed = content[:-1] + b"\xff" if name.startswith("t10k-images") else content
        (tmp_path / name).write_bytes(changed)
    monkeypatch.setenv("POCKET_DATA", str(tmp_path))
    with pytest.raises(Mistake, match="t10k-images-idx3-ubyte: not the published file"):
        fashion_mnist.read(tmp_path / "downloads")


def test_a_pocket_data_that_is_not_there_is_said(small, tmp_path, monkeypatch):
    monkeypatch.setenv("POCKET_DATA", str(tmp_path / "gone"))
    with pytest.raises(Mistake, match=r"POCKET_DATA is .*gone.* wanted an existing folder"):
        fashion_mnist.read(tmp_path / "downloads")


def test_label_names_follow_the_published_order():
    assert np.array(fashion_mnist.CLASSES)[[0, 3, 9]].tolist() == ["T-shirt/top", "Dress", "Ankle boot"]
