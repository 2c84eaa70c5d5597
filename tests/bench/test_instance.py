"""The lock of a results folder: one holder, gone with its holder, not inherited by what the holder starts."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pocket.bench import instance
from pocket.mistake import Mistake

HOLD = "import sys, time; from pathlib import Path; from pocket.bench import instance; instance.hold(Path(sys.argv[1]))"
HOLD_AND_WAIT = HOLD + "; print('held', flush=True); time.sleep(600)"
HOLD_AND_START = HOLD + "; import subprocess as s; print(s.Popen(['sleep', '600'], stdout=s.DEVNULL).pid, flush=True)"


def start(code, folder):
    return subprocess.Popen([sys.executable, "-c", code, folder], stdout=subprocess.PIPE, text=True)


def test_second_holder_is_refused_by_name_until_the_first_is_killed(tmp_path):
    with start(HOLD_AND_WAIT, tmp_path) as first:
        assert first.stdout.readline() == "held\n"
        with pytest.raises(Mistake, match=f"is being worked on by process {first.pid}"):
            instance.hold(tmp_path)
        first.send_signal(signal.SIGKILL)
        first.wait()
    instance.hold(tmp_path)


def test_orphan_does_not_keep_the_lock(tmp_path):
    with start(HOLD_AND_START, tmp_path) as first:
        orphan = int(first.stdout.readline())
        first.wait()
    try:
        assert Path(f"/proc/{orphan}").exists()
        instance.hold(tmp_path)
    finally:
        subprocess.run(["kill", str(orphan)], check=True)


def test_snakemake_under_make_does_not_ask_for_the_lock_again(tmp_path, monkeypatch):
    instance.hold(tmp_path)
    with pytest.raises(Mistake):
        instance.hold_unless_held(tmp_path)
    monkeypatch.setenv(instance.HELD, str(tmp_path.resolve()))
    instance.hold_unless_held(tmp_path)


def test_folder_that_cannot_be_made_is_a_mistake(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(Mistake, match=r"cannot write .*Not a directory; choose another folder"):
        instance.hold(tmp_path / "taken" / "results")
