"""What PyYAML would guess is not guessed; what would break or blow up a reader is one line."""

import pytest

from pocket.bench.plan import strict_yaml
from pocket.mistake import Mistake


@pytest.fixture
def read(tmp_path):
    path = tmp_path / "a.yaml"

    def read_text(text):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return strict_yaml.read(path)

    return read_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1e-4", 0.0001),
        ("1e+4", 10000.0),
        ("-.5", -0.5),
        ("64", 64),
        ("0", 0),
        ("true", True),
        ("null", None),
        ("", None),
        ("~", None),
        ("010", "010"),
        ("1_000", "1_000"),
        ("on", "on"),
        ("no", "no"),
        ("True", "True"),
        ("1:30", "1:30"),
        ("NaN", "NaN"),
        (".nan", ".nan"),
        ("0x10", "0x10"),
        ("2026-01-01", "2026-01-01"),
        ("'1e-3'", "1e-3"),
    ],
)
def test_scalar(read, text, value):
    read_value = read(f"x: {text}")["x"]
    assert read_value == value
    assert type(read_value) is type(value)


def test_merged_and_repeated_parts_are_written_out(read):
    assert read("a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: *a") == {"a": {"x": 1}, "b": {"x": 1, "y": 2}, "c": {"x": 1}}


BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("x: 1\ny: 2\nx: 3", "line 3: key 'x' stands twice, first in line 1"),
        ("x: {y: 1, y: 2}", "key 'y' stands twice"),
        (BOMB, "more than 10000 values"),
        ("a: &a [*a]", "more than 10000 values"),
        ("a: &a {b: *a}", "more than 10000 values"),
        ("x: " + "[" * 100 + "]" * 100, "nested more than 20 deep"),
        ("x: " + "[" * 100000, "nest"),
        ("x: !!python/object/apply:os.system ['true']", "not valid YAML"),
        ("x: [1, 2", "not valid YAML: did not find expected"),
        ("x: *missing", "not valid YAML"),
        ("x: 1\n---\ny: 2", "not valid YAML"),
        ("x: \x00", "not valid YAML"),
        ("", "wanted names and values"),
        ("- 1", "wanted names and values"),
        ("just text", "wanted names and values"),
        ("? [1, 2]\n: x", "a key must be a word"),
        (b"x: \xff\xfe", "is not UTF-8"),
        ("x: " + "y" * 300_000, "at most 262144"),
    ],
)
def test_bad_file_is_one_line_that_names_the_file(read, tmp_path, text, named):
    with pytest.raises(Mistake) as caught:
        read(text)
    assert str(caught.value).startswith(f"{tmp_path / 'a.yaml'}: ")
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_and_folder_in_its_place_are_mistakes(tmp_path):
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(Mistake, match="cannot be read"):
            strict_yaml.read(path)
