"""One run at a time on a device, whoever holds it and however that one ends."""

import os
import stat
import subprocess
import sys
import tempfile

import pytest

from pocket.bench.supervisor import lock
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
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setenv(lock.CHOSEN, str(tmp_path / "link"))
    with pytest.raises(Mistake, match="is no folder of user"):
        DeviceLock("cpu")


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """The folder of all users, elsewhere."""
    monkeypatch.delenv(lock.CHOSEN)
    monkeypatch.setattr(lock, "SHARED", tmp_path / "locks")
    return tmp_path / "locks"


def test_every_login_of_every_user_locks_in_one_place(shared, tmp_path, monkeypatch):
    before = os.umask(0o077)
    try:
        first = DeviceLock("cpu")
        assert first.acquire("first")
    finally:
        os.umask(before)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
    assert stat.S_IMODE(first.path.stat().st_mode) == 0o666
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    second = DeviceLock("cpu")
    assert second.path == first.path == shared / "cpu.lock"
    assert not second.acquire("second", lambda holder: False)
    first.release()


@pytest.mark.parametrize("taken", ["link", "closed", "file"])
def test_where_all_cannot_lock_this_user_does(taken, shared, tmp_path, monkeypatch):
    if taken == "link":
        shared.symlink_to(tmp_path)
    elif taken == "closed":
        shared.mkdir(mode=0o755)
    else:
        shared.write_text("")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert DeviceLock("cpu").path == tmp_path / f"pocketnn-{os.getuid()}" / "cpu.lock"


@pytest.mark.parametrize("make", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_another_name_of_a_file_is_never_written_to(make, shared, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("kept")
    mine = DeviceLock("cpu")
    make(precious, mine.path)
    with pytest.raises(Mistake, match=r"cannot lock .*; set POCKET_LOCKS to a folder"):
        mine.acquire("me")
    assert precious.read_text() == "kept"
