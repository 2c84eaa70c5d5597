"""A run from outside: every ending has its status, and nothing is left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiny

from pocket.bench import record
from pocket.bench.implied import ran_out
from pocket.bench.supervisor import ending, process
from pocket.bench.supervisor import supervise as supervising
from pocket.bench.supervisor.lock import DeviceLock
from pocket.bench.supervisor.supervise import supervise
from pocket.bench.supervisor.worker import environment
from pocket.mistake import Mistake


def wait_for(condition, seconds=20.0):
    """The first true answer of `condition`, which must come within `seconds`."""
    end = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return answer


def gone(pid: int) -> bool:
    line = process.look(pid)
    return line is None or line.state in "ZX"


def start_supervisor(results: Path, **settings) -> subprocess.Popen:
    """A supervisor in a process of its own, as the workflow starts one."""
    tiny.prepared(results, tiny.a_run(**settings))
    command = [*tiny.COMMAND, json.dumps(settings), str(results)]
    return subprocess.Popen(command, start_new_session=True)


def test_a_sound_run_is_recorded(tmp_path):
    made = tiny.supervised(tmp_path)
    assert made == record.read(record.path_of("tiny", tmp_path))
    assert made["status"] == "ok"
    updates = made["values"]["updates"]
    assert updates["samples"] == [30, 30, 30, 10] * 2
    assert all(len(updates[name]) == 8 for name in ("loss", "data_seconds", "transfer_seconds", "compute_seconds"))
    assert updates["warmup"] == 3
    assert [epoch["updates"] for epoch in made["values"]["epochs"]] == [4, 8]
    assert made["data"]["digest"]
    assert made["weights"]["digest"]
    assert made["machine"]["blas"]["kernel"]
    assert made["machine"]["threads"] == 1
    memory = made["values"]["memory"]
    assert memory["process_peak_bytes"] > memory["process_before_bytes"] / 2 > 1e6
    assert memory["live_peak_bytes"] is None
    assert memory["live_peak_bytes_reason"]


def test_the_seconds_add_up(tmp_path):
    seconds = tiny.supervised(tmp_path)["seconds"]
    assert seconds["overhead"] == pytest.approx(
        seconds["total"] - seconds["import"] - seconds["train"] - seconds["score"], abs=1e-9
    )
    assert min(seconds.values()) >= 0


@pytest.mark.parametrize(
    ("model", "status", "reason"),
    [
        ("diverges", "diverged", "the loss was inf at update 4"),
        ("raises", "error", "RuntimeError: the wheel came off"),
        ("hoards", "oom_device", "out of memory at update 4: asked for 1,152,921,504,606,846,976 bytes"),
        ("dies", "killed", "killed from outside by SIGKILL after 4 updates: by hand"),
    ],
)
def test_each_ending_has_its_status(model, status, reason, tmp_path, monkeypatch):
    monkeypatch.setattr(supervising, "kernel_kills", lambda: 7)
    made = tiny.supervised(tmp_path, model=model)
    assert made["status"] == status
    assert made["reason"].startswith(reason)
    assert "\n" not in made["reason"]
    if model != "dies":
        assert len(made["values"]["updates"]["loss"]) == 4 + (model == "diverges")
    if model == "raises":
        assert "rolled away" in made["detail"]
        assert "misbehave" in made["detail"]
    if model == "hoards":
        assert made["values"]["shortage"] == {"update": 4, "asked_bytes": 1 << 60, "live_bytes": 1000}


@pytest.mark.parametrize(
    ("counted", "status", "reason", "certain"),
    [
        ([7, 8], "oom_host", "the kernel killed a process for memory", True),
        ([7, 7], "killed", "the kernel killed nothing for memory", False),
        ([None, None], "oom_host", "most likely for want of host memory", False),
        ([7, None], "oom_host", "most likely for want of host memory", False),
    ],
)
def test_a_kill_is_for_memory_when_the_kernel_says_so(counted, status, reason, certain, tmp_path, monkeypatch):
    monkeypatch.setattr(supervising, "kernel_kills", lambda: counted.pop(0))
    made = tiny.supervised(tmp_path, model="dies")
    assert made["status"] == status
    assert reason in made["reason"]
    assert ran_out(made) == certain
    if certain:
        assert made["values"]["shortage"]["update"] == 4


def test_a_kernel_that_does_not_count_says_nothing(monkeypatch):
    monkeypatch.setattr(Path, "read_text", lambda path: "nr_free_pages 12\n")
    assert ending.kernel_kills() is None


def test_what_fails_around_the_workers_is_a_record(tmp_path, monkeypatch):
    """A job that ended with a status would take the report with it."""
    run = tiny.a_run()
    made = supervise(run, tiny.prepared(tmp_path, run), command=("/no/such/program",))
    assert made["status"] == "error"
    assert made["reason"].startswith("the supervisor failed: FileNotFoundError")
    assert "Traceback" in made["detail"]
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setenv("POCKET_LOCKS", str(tmp_path / "link"))
    made = tiny.supervised(tmp_path)
    assert made["status"] == "error"
    assert "is no folder of user" in made["reason"]
    assert record.read(record.path_of("tiny", tmp_path)) == made


def test_what_a_gpu_holds_is_read_once_it_is_ours(tmp_path, monkeypatch):
    """While another run was waited for, that one's memory was in use."""
    gpu = {"name": "a card", "uuid": "GPU-1", "memory_used_bytes": 9000}
    found = {**supervising.machine.machine("cpu", 1, {}), "gpu": gpu}
    monkeypatch.setattr(supervising.machine, "machine", lambda *asked: found)
    monkeypatch.setattr(supervising.machine, "used_now", lambda gpu: {**gpu, "memory_used_bytes": 5})
    made = tiny.supervised(tmp_path, device="cuda")
    assert made["status"] == "ok"
    memory = made["values"]["memory"]
    assert memory["process_before_bytes"] == 5
    assert memory["process_peak_bytes"] is None
    assert memory["process_peak_bytes_reason"] == "what the device held was not read at the end"
    assert memory["process_host_peak_bytes"] > 1e6


def test_a_worker_counts_gpus_as_nvidia_smi_does():
    assert environment(tiny.a_run(malloc="default").settings, "token", {})["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_a_run_that_hangs_is_ended_and_keeps_what_it_had(tmp_path):
    made = tiny.supervised(tmp_path, model="hangs", time_limit_seconds=1)
    assert made["status"] == "timeout"
    assert made["reason"] == "it took longer than time_limit_seconds: 1"
    assert len(made["values"]["updates"]["loss"]) == 4


def test_a_worker_that_cannot_start_is_an_error(tmp_path):
    run = tiny.a_run()
    made = supervise(run, tiny.prepared(tmp_path, run), command=(sys.executable, "-c", "import no_such_module"))
    assert made["status"] == "error"
    assert "status 1 and without a result" in made["reason"]
    assert "no_such_module" in made["detail"]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"trainer": "engine", "precision": "amp"}, "no mixed precision yet"),
        ({"trainer": "engine", "device": "cuda"}, "no CUDA kernels yet"),
        ({"trainer": "torch", "memory_budget": "1GB"}, "needs kind: memory"),
    ],
)
def test_what_cannot_be_done_is_known_before_training(settings, reason, tmp_path):
    made = tiny.supervised(tmp_path, **settings)
    assert made["status"] == "unsupported"
    assert reason in made["reason"]
    assert made["values"] == {}
    assert record.read(record.path_of("tiny", tmp_path)) == made


def test_a_card_that_is_not_there_is_unsupported(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    made = tiny.supervised(tmp_path, trainer="torch", device="cuda")
    assert (made["status"], made["reason"]) == ("unsupported", "no GPU: nvidia-smi is not on PATH")
    assert made["device"] == {"kind": "cuda", "name": None, "uuid": None}


def test_missing_inputs_and_unwritable_results_are_mistakes_before_the_run(tmp_path):
    run = tiny.a_run()
    with pytest.raises(Mistake, match=r"data/tabular.* is missing; prepare it: pocket bench data"):
        supervise(run, tmp_path, command=tiny.COMMAND)
    tiny.prepared(tmp_path, run)
    (tmp_path / "records").rmdir()
    (tmp_path / "records").write_text("in the way")
    with pytest.raises(Mistake, match=r"cannot write .*tiny.json"):
        supervise(run, tmp_path, command=tiny.COMMAND)


def test_a_grandchild_that_hides_and_ignores_signals_is_gone_with_the_run(tmp_path, monkeypatch):
    note = tmp_path / "note"
    monkeypatch.setenv(tiny.NOTE, str(note))
    made = tiny.supervised(tmp_path, model="spawns", time_limit_seconds=3)
    assert made["status"] == "timeout"
    assert gone(int(note.read_text()))
    assert made["seconds"]["total"] < 3 + 5


def test_a_supervisor_killed_outright_leaves_no_child_and_no_lock(tmp_path, monkeypatch):
    note = tmp_path / "note"
    monkeypatch.setenv(tiny.NOTE, str(note))
    supervisor = start_supervisor(tmp_path, model="spawns")
    wait_for(note.exists)
    below = process.descendants(supervisor.pid) | {int(note.read_text())}
    assert len(below) >= 3  # worker, guard, the hidden one
    os.killpg(supervisor.pid, signal.SIGKILL)  # as a workflow is killed with its jobs
    assert supervisor.wait() == -signal.SIGKILL
    wait_for(lambda: all(map(gone, below)), seconds=5)
    lock = DeviceLock("cpu")
    waits = []
    assert lock.acquire("next", lambda holder: not waits.append(holder) and len(waits) < 100)
    lock.release()
    assert not record.path_of("tiny", tmp_path).exists()


def test_a_supervisor_asked_to_end_records_killed(tmp_path, monkeypatch):
    note = tmp_path / "note"
    monkeypatch.setenv(tiny.NOTE, str(note))
    supervisor = start_supervisor(tmp_path, model="spawns")
    wait_for(note.exists)
    supervisor.terminate()
    assert supervisor.wait(timeout=10) == 0
    made = record.read(record.path_of("tiny", tmp_path))
    assert (made["status"], made["reason"]) == ("killed", "the supervisor received SIGTERM")
    assert len(made["values"]["updates"]["loss"]) == 4
    assert gone(int(note.read_text()))


FAKE_WORKFLOW = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], start_new_session=True)
print(child.pid, flush=True)
child.wait()
"""


def test_the_end_of_snakemake_ends_the_run(tmp_path, monkeypatch):
    note = tmp_path / "note"
    monkeypatch.setenv(tiny.NOTE, str(note))
    settings = {"model": "spawns"}
    tiny.prepared(tmp_path, tiny.a_run(**settings))
    workflow = tmp_path / "snakemake"
    workflow.write_text(FAKE_WORKFLOW)
    command = [sys.executable, str(workflow), *tiny.COMMAND, json.dumps(settings), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        supervisor = int(parent.stdout.readline())
        wait_for(note.exists)
        below = process.descendants(supervisor) | {supervisor, int(note.read_text())}
        parent.kill()
    wait_for(lambda: all(map(gone, below)), seconds=10)
    assert not record.path_of("tiny", tmp_path).exists()
    assert not list((tmp_path / "records").glob(".*"))
