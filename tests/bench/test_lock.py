"""One run at a time on a device, whoever holds it and however that one ends."""

import os
import subprocess
import sys

import pytest

from pocket.bench.supervisor.lock import DeviceLock
from pocket.mistake import Mistake

HOLD = """
import sys
from pocket.bench.supervisor.lock import DeviceLock
held = DeviceLock(sys.argv[1])
held.acquire("the other one")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_holder_waits_for_the_first_even_when_that_is_killed():
    with subprocess.Popen([sys.executable, "-c", HOLD, "cpu"], stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout.readline() == "held\n"
        seen = []

        def waiting(holder):
            seen.append(holder)
            if len(seen) == 3:
                other.kill()
            return len(seen) < 200

        mine = DeviceLock("cpu")
        assert mine.acquire("me", waiting)
        assert seen[0] == "the other one"
        assert len(seen) >= 3
        assert mine.path.read_text() == "me"
        mine.release()


def test_giving_up_leaves_no_lock():
    first, second = DeviceLock("GPU-1/2"), DeviceLock("GPU-1/2")
    assert first.acquire("first")
    assert not second.acquire("second", lambda holder: False)
    assert second.file_number is None
    first.release()
    assert second.acquire("second")
    second.release()


def test_devices_do_not_hinder_each_other():
    first, second = DeviceLock("GPU-1"), DeviceLock("cpu")
    assert first.acquire("first")
    assert second.acquire("second", lambda holder: pytest.fail("it waits"))
    first.release()
    second.release()


def test_a_folder_of_somebody_else_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / f"pocketnn-{os.getuid()}").symlink_to(tmp_path)
    with pytest.raises(Mistake, match="is no folder of user"):
        DeviceLock("cpu")
