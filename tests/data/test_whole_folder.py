import os
import signal
import subprocess
import sys

import pytest

from pocket.data.whole_folder import whole_folder
from pocket.mistake import Mistake


def fill(folder, text="new"):
    (folder / "a").write_text(text)


def break_off(target):
    with whole_folder(target) as folder:
        fill(folder)
        raise KeyError


def test_appears_at_the_end_and_replaces_an_older_one(tmp_path):
    target = tmp_path / "data" / "digits [8x8]"
    for text in ("first", "second"):
        with whole_folder(target) as folder:
            fill(folder, text)
            (folder / text).write_text("x")
        assert sorted(path.name for path in target.iterdir()) == ["a", text]
    assert os.listdir(target.parent) == [target.name]


def test_an_error_leaves_what_was_there(tmp_path):
    target = tmp_path / "data"
    with whole_folder(target) as folder:
        fill(folder, "old")
    with pytest.raises(KeyError):
        break_off(target)
    assert (target / "a").read_text() == "old"
    assert os.listdir(tmp_path) == ["data"]


def test_what_a_killed_process_left_is_removed_and_a_living_one_is_not(tmp_path):
    program = (
        "import sys, time, pathlib\n"
        "from pocket.data.whole_folder import whole_folder\n"
        "with whole_folder(pathlib.Path(sys.argv[1])) as folder:\n"
        "    (folder / 'a').write_text('half')\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(600)\n"
    )
    target = tmp_path / "data"
    with subprocess.Popen([sys.executable, "-c", program, target], stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"ready\n"
        with whole_folder(target) as folder:
            fill(folder)
        assert len(os.listdir(tmp_path)) == 2  # the living one's work is still there
        other.send_signal(signal.SIGKILL)
    with whole_folder(target) as folder:
        fill(folder, "newer")
    assert os.listdir(tmp_path) == ["data"]
    assert (target / "a").read_text() == "newer"


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(Mistake, match="cannot be written") as caught, whole_folder(tmp_path / "file" / "data"):
        pass
    assert "\n" not in str(caught.value)
