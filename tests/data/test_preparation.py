import json
import os
import subprocess
import sys

import numpy as np
import pytest

from pocket.data import Batches, load, prepare
from pocket.mistake import Mistake

from .pictures import BLUE, RED, colour_file, cut_file, photo_file


@pytest.fixture
def pictures(tmp_path):
    for split, count in (("train", 3), ("test", 2)):
        for number in range(count):
            colour_file(tmp_path / "own é" / split / "red" / f"{number}.png", RED, (6, 4))
            colour_file(tmp_path / "own é" / split / "blue" / f"{number}.png", BLUE, (5, 9))
    return f"folder:{tmp_path / 'own é'}"


def test_digits_as_they_are(tmp_path):
    prepare("digits", None, None, None, tmp_path / "digits")
    data = load(tmp_path / "digits")
    assert data.x_train.shape == (1437, 8, 8, 1)
    assert data.x_test.shape == (360, 8, 8, 1)
    assert data.input_shape == (8, 8, 1)
    assert data.outputs == 10
    assert data.task == "classification"
    assert data.meta["class_names"] == [str(digit) for digit in range(10)]
    np.testing.assert_allclose(data.mean, (data.x_train / 255).mean(), rtol=1e-6)
    np.testing.assert_allclose(data.std, (data.x_train / 255).std(), rtol=1e-6)
    assert data.mean.dtype == data.std.dtype == np.float32
    data.check()


def test_part_of_the_digits_enlarged(tmp_path):
    prepare("digits", 20, 100, 30, tmp_path / "a")
    prepare("digits", 20, 100, 30, tmp_path / "b")
    data = load(tmp_path / "a")
    assert data.x_train.shape == (100, 20, 20, 1)
    assert np.bincount(data.y_train).tolist() == [10] * 10
    assert len(data.y_test) == 30
    assert data.digest == load(tmp_path / "b").digest
    prepare("digits", 20, 101, 30, tmp_path / "b")
    assert data.digest != load(tmp_path / "b").digest


def test_table(tmp_path):
    prepare("tabular", None, 500, 100, tmp_path / "table")
    data = load(tmp_path / "table")
    assert data.outputs == 1
    assert data.meta["classes"] is None
    assert data.x_train.shape == (500, 20)
    rows = (data.x_train - data.mean) / data.std
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(rows.std(axis=0), 1, rtol=1e-4)
    with pytest.raises(Mistake, match="resolution must be null"):
        prepare("tabular", 32, None, None, tmp_path / "other")


def test_own_pictures_of_different_sizes(tmp_path, pictures):
    prepare(pictures, 8, None, None, tmp_path / "own")
    data = load(tmp_path / "own")
    assert data.x_train.shape == (6, 8, 8, 3)
    assert data.meta["class_names"] == ["blue", "red"]
    assert data.y_train.tolist() == [0, 0, 0, 1, 1, 1]
    assert np.unique(data.x_train[data.y_train == 1].reshape(-1, 3), axis=0).tolist() == [[255, 0, 0]]
    np.testing.assert_allclose(data.mean, [0.5, 0, 0.5])
    np.testing.assert_allclose(data.std, [0.5, 1, 0.5])
    with pytest.raises(Mistake, match=r"pictures differ in size .*set resolution"):
        prepare(pictures, None, None, None, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_files_left_out_are_counted_or_refused(tmp_path, pictures):
    cut = cut_file(tmp_path / "own é" / "train" / "red" / "cut é.jpg")
    photo_file(tmp_path / "own é" / "train" / "red" / "good.jpg", mode="CMYK")
    prepare(pictures, 8, None, None, tmp_path / "own")
    meta = json.loads((tmp_path / "own" / "meta.json").read_text(encoding="utf-8"))
    assert [entry["path"] for entry in meta["skipped"]] == [str(cut)]
    assert meta["train_samples"] == 7
    with pytest.raises(Mistake, match="1 files cannot be read"):
        prepare(pictures, 8, None, None, tmp_path / "strict", strict=True)


def test_the_same_pictures_elsewhere_are_the_same_data(tmp_path, pictures):
    prepare(pictures, 8, None, None, tmp_path / "a")
    os.rename(tmp_path / "own é", tmp_path / "moved")
    prepare(f"folder:{tmp_path / 'moved'}", 8, None, None, tmp_path / "b")
    assert load(tmp_path / "a").digest == load(tmp_path / "b").digest


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("digit", None, None, None), r"'digit' is not known \(did you mean digits\?\)"),
        (("folder:nowhere", 8, None, None), "nowhere is no folder"),
        (("digits", None, 5000, None), "train_samples is 5000, but scikit-learn's load_digits has 1437"),
        (("digits", None, None, 361), "test_samples is 361"),
        (("digits", 0, None, None), "resolution is 0"),
        (("digits", None, 0, None), "train_samples is 0"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(tmp_path, arguments, words):
    with pytest.raises(Mistake, match=words) as caught:
        prepare(*arguments, tmp_path / "data")
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_one_line_and_leaves_what_was_there(tmp_path, monkeypatch):
    prepare("digits", None, 50, 20, tmp_path / "data")
    before = load(tmp_path / "data").digest
    program = (
        "import resource, signal, sys, pathlib\n"
        "from pocket.data import prepare\n"
        "from pocket.mistake import Mistake\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "try:\n"
        "    prepare('digits', None, None, None, pathlib.Path(sys.argv[1]))\n"
        "except Mistake as mistake:\n"
        "    print(mistake)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program, tmp_path / "data"], capture_output=True, text=True, check=True)
    assert ran.stdout.count("\n") == 1
    assert "cannot be written" in ran.stdout
    assert os.listdir(tmp_path) == ["data"]
    assert load(tmp_path / "data").digest == before


@pytest.fixture
def prepared(tmp_path):
    prepare("digits", None, 1100, 20, tmp_path / "data")
    return tmp_path / "data"


def test_altered_pixels_labels_and_statistics_are_found(prepared):
    load(prepared).check()
    for name in ("x_test", "y_train"):
        array = np.load(prepared / f"{name}.npy")
        altered = array.copy()
        altered.flat[-1] += 1
        np.save(prepared / f"{name}.npy", altered)
        with pytest.raises(Mistake, match="digest is"):
            load(prepared).check()
        np.save(prepared / f"{name}.npy", array)
    labels = np.load(prepared / "y_test.npy")
    np.save(prepared / "y_test.npy", labels.view(np.uint64))  # the same bytes, another type
    with pytest.raises(Mistake, match="digest is"):
        load(prepared).check()
    np.save(prepared / "y_test.npy", labels)
    load(prepared).check()
    meta = json.loads((prepared / "meta.json").read_text())
    meta["mean"][0] += 0.1
    (prepared / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(Mistake, match="digest is"):
        load(prepared).check()


def test_missing_and_cut_files_are_named(prepared):
    content = (prepared / "x_train.npy").read_bytes()
    (prepared / "x_train.npy").write_bytes(content[:-1])
    with pytest.raises(Mistake, match="damaged data set"):
        load(prepared)
    (prepared / "x_train.npy").unlink()
    with pytest.raises(Mistake, match=r"x_train\.npy is missing"):
        load(prepared)
    with pytest.raises(Mistake, match=r"meta\.json is missing"):
        load(prepared / "nowhere")


def test_arrays_and_description_must_fit(prepared):
    np.save(prepared / "x_train.npy", np.zeros((1100, 9, 8, 1), np.uint8))
    with pytest.raises(Mistake, match=r"train is \(1100, 9, 8, 1\) with 1100 answers"):
        load(prepared)
    meta = json.loads((prepared / "meta.json").read_text())
    del meta["mean"]
    (prepared / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(Mistake, match="lacks mean"):
        load(prepared)


def test_mapped_arrays_serve_writable_batches(prepared):
    data = load(prepared)
    assert not data.x_train.flags.writeable
    batch = next(Batches(data, 8)(0))
    assert type(batch.x) is np.ndarray
    assert batch.x.flags.writeable
    assert batch.x.base is None


def test_a_run_imports_neither_pillow_nor_scikit_learn_nor_the_network():
    program = (
        "import sys, pocket.data\n"
        "print([name for name in ('PIL', 'sklearn', 'urllib.request', 'torch', 'pandas') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
