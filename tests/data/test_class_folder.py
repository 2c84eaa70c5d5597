import pytest

from pocket.data.class_folder import scan
from pocket.data.class_split import split_classes
from pocket.data.folder import read
from pocket.mistake import Mistake

from .pictures import BLUE, RED, colour_file, cut_file, photo_file


@pytest.fixture
def messy(tmp_path):
    """What a folder looks like after a while; made in an order that is not the sorted one."""
    train = tmp_path / "train"
    for name in ("b", "10", "a", "chat noir é", "9"):
        for number in (2, 1):
            colour_file(train / name / f"{number}.png", BLUE if name == "b" else RED)
    colour_file(train / ".ipynb_checkpoints" / "1.png")
    (train / "c").mkdir()
    (train / ".DS_Store").write_bytes(b"x")
    (train / "Thumbs.db").write_bytes(b"x")
    (train / "a" / "Thumbs.db").write_bytes(b"x")
    (train / "a" / ".hidden.png").write_bytes(b"x")
    for name in ("b", "a", "zebra"):
        colour_file(tmp_path / "val" / name / "1.png", BLUE if name == "b" else RED)
    return tmp_path


def test_classes_are_sorted_and_hidden_ones_skipped(messy):
    assert list(scan(messy / "train").files) == ["10", "9", "a", "b", "chat noir é"]


def test_files_are_sorted_and_hidden_ones_skipped(messy):
    assert [path.name for path in scan(messy / "train").files["a"]] == ["1.png", "2.png"]


def test_empty_class_is_reported_by_name(messy):
    found = scan(messy / "train")
    assert "c" not in found.files
    assert any("'c' is no class" in note for note in found.notes)


def test_what_is_no_picture_is_reported(messy):
    (messy / "train" / "a" / "inner").mkdir()
    (messy / "train" / "a" / "list.txt").write_text("x")
    assert any("2 entries" in note and "inner" in note for note in scan(messy / "train").notes)


def test_validation_uses_the_training_labels(messy):
    raw = read(messy)
    assert raw.class_names == ("10", "9", "a", "b", "chat noir é")
    assert raw.train.y.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert raw.test.y.tolist() == [2, 3]  # alone, the validation folder would call them 0 and 1
    assert raw.test.x[1][0, 0].tolist() == [0, 0, 255]


def test_a_class_only_in_validation_is_reported(messy):
    notes = split_classes(messy).notes
    assert any("'zebra' has no training picture" in note for note in notes)
    assert any("'9' has no test picture" in note for note in notes)


def test_composed_and_decomposed_letters_are_one_class(tmp_path):
    colour_file(tmp_path / "train" / "e\u0301t\u00e9" / "1.png")
    colour_file(tmp_path / "test" / "\u00e9te\u0301" / "1.png")
    raw = read(tmp_path)
    assert raw.class_names == ("\u00e9t\u00e9",)
    assert raw.test.y.tolist() == [0]
    colour_file(tmp_path / "train" / "f" / "1.png")
    assert read(tmp_path).class_names == ("f", "\u00e9t\u00e9")  # by composed letters, however they are stored
    colour_file(tmp_path / "train" / "\u00e9t\u00e9" / "1.png")
    with pytest.raises(Mistake, match="two folders"):
        read(tmp_path)


@pytest.mark.parametrize("content", [None, "empty", "hidden", "bare"])
def test_a_root_without_classes_is_an_error(tmp_path, content):
    root = tmp_path / "root"
    if content:
        root.mkdir()
    if content == "hidden":
        colour_file(root / ".cache" / "1.png")
    if content == "bare":
        colour_file(root / "1.png")
    with pytest.raises(Mistake, match=str(root)):
        read(root)


def test_train_without_test_is_an_error(tmp_path):
    colour_file(tmp_path / "train" / "a" / "1.png")
    with pytest.raises(Mistake, match="has train/ but none of test, val"):
        read(tmp_path)


def test_one_in_five_is_drawn_where_there_is_no_split(tmp_path):
    for name, count in (("a", 10), ("b", 7), ("few", 4)):
        for number in range(count):
            colour_file(tmp_path / name / f"{number}.png")
    first, second = split_classes(tmp_path), split_classes(tmp_path)
    assert [label for _, label in first.test] == [0, 0, 1]
    assert len(first.train) == 8 + 6 + 4
    assert not {path for path, _ in first.train} & {path for path, _ in first.test}
    assert first == second


def test_too_few_pictures_to_draw_from_is_an_error(tmp_path):
    colour_file(tmp_path / "a" / "1.png")
    with pytest.raises(Mistake, match="no class has 5 pictures"):
        split_classes(tmp_path)


def test_bad_files_are_listed_or_refused(messy):
    cut = cut_file(messy / "train" / "a" / "0 abgeschnitten é.jpg")
    empty = messy / "val" / "b" / "0.png"
    empty.write_bytes(b"")
    raw = read(messy)
    assert [entry["path"] for entry in raw.skipped] == [str(cut), str(empty)]
    assert len(raw.train.x) == len(raw.train.y) == 10
    assert len(raw.test.x) == len(raw.test.y) == 2
    with pytest.raises(Mistake, match="2 files cannot be read") as caught:
        read(messy, strict=True)
    assert str(cut) in str(caught.value)
    assert str(empty) in str(caught.value)


def test_a_class_or_split_of_bad_files_only(messy):
    for path in (messy / "train" / "9").iterdir():
        path.write_bytes(b"")
    raw = read(messy)
    assert raw.class_names[1] == "9"  # the label stays where it was
    assert any("'9': none of its training pictures" in note for note in raw.notes)
    for path in [*(messy / "val" / "a").iterdir(), *(messy / "val" / "b").iterdir()]:
        path.write_text("x")
    with pytest.raises(Mistake, match="none of its test pictures"):
        read(messy)


def test_mixed_sizes_come_as_they_are(tmp_path):
    for split in ("train", "test"):
        (tmp_path / split / "a").mkdir(parents=True)
        photo_file(tmp_path / split / "a" / "photo.jpg")
        colour_file(tmp_path / split / "a" / "point.png", size=(1, 1))
    raw = read(tmp_path)
    assert [raw.train.x[index].shape for index in range(2)] == [(48, 64, 3), (1, 1, 3)]
