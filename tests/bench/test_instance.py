"""The lock of a results folder: one holder, gone with its holder, not inherited by what the holder starts."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pocket.bench import instance, make
from pocket.bench.plan.spec import Plan
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


def test_the_lock_ends_with_the_last_that_was_handed_it(tmp_path):
    with instance.holding(tmp_path) as number:
        child = subprocess.Popen(["sleep", "600"], pass_fds=[number])
    try:
        with pytest.raises(Mistake, match="is being worked on"), instance.holding(tmp_path):
            pass
    finally:
        child.kill()
        child.wait()
    with instance.holding(tmp_path):
        pass
    with instance.holding(tmp_path):
        pass


BESIDE = (
    "import time; from pathlib import Path; from pocket.bench import instance; "
    "instance.hold_unless_held(Path('others')); print('held', flush=True); time.sleep(600)"
)


def test_lock_files_of_a_living_workflow_on_other_results_are_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Snakefile").touch()
    (tmp_path / ".snakemake/locks").mkdir(parents=True)
    (tmp_path / ".snakemake/locks/0.output.lock").touch()
    commands = []
    monkeypatch.setattr(make, "_run", lambda command, environment, locks: commands.append(command))
    monkeypatch.setattr(make, "failures", lambda plan, results: [])
    plan = Plan((), "quick", "cpu")
    with subprocess.Popen([sys.executable, "-c", BESIDE], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        make.make(plan, Path("experiments"), Path("results"))
        assert ["--unlock" in command for command in commands] == [False]
        other.kill()
    make.make(plan, Path("experiments"), Path("results"))
    assert ["--unlock" in command for command in commands] == [False, True, False]
