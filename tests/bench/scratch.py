"""A copy of the workflow in a folder of its own, with small experiments: what a user's clone is, in a hostile place."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 300  # a last resort against a hang, not a measurement
HOSTILE_NAME = "my proj's é"  # a space, an apostrophe, a letter that is not ASCII

TINY = """
question: Does a small network learn a little?
base: {model: mlp, dataset: digits, train_samples: 128, test_samples: 50, max_updates: 6, warmup_updates: 1}
grid:
  trainer: [engine, torch]
  batch_size: [16, 32]
suites: {quick: {}}
show:
  table: {rows: [trainer, batch_size], columns: [accuracy, step_seconds]}
  plots:
    - {x: update, y: loss_curve, by: [trainer, batch_size]}
"""


def project(parent: Path, texts: dict[str, str] | None = None) -> Path:
    """A folder with Snakefile, rules and the experiments `texts` (name -> YAML)."""
    folder = parent / HOSTILE_NAME
    folder.mkdir()
    shutil.copy(ROOT / "Snakefile", folder)
    shutil.copytree(ROOT / "workflows", folder / "workflows")
    (folder / "experiments").mkdir()
    for name, text in (texts or {"tiny": TINY}).items():
        (folder / "experiments" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def environment() -> dict[str, str]:
    """Without a GPU to be found, and nothing that another test left."""
    return {name: text for name, text in os.environ.items() if not name.startswith("POCKET_RESULTS")}


def snakemake(folder: Path, *words: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *words]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)


def planned(folder: Path, *words: str) -> dict[str, list[str]]:
    """Command of `pocket bench` -> what a dry run would call it with, sorted: a dry run says nothing of the order."""
    done = snakemake(folder, "-n", "-p", *words)
    assert done.returncode == 0, done.stderr + done.stdout
    found: dict[str, list[str]] = {}
    for command, name in re.findall(r"python -m pocket\.bench (\w+) (\S+)", done.stdout + done.stderr):
        found.setdefault(command, []).append(name)
    return {command: sorted(names) for command, names in found.items()}


def bench_command(*words: str) -> list[str]:
    return [sys.executable, "-m", "pocket.bench", *words]


def make(folder: Path) -> subprocess.CompletedProcess:
    """`pocket bench make` to its end."""
    command = bench_command("make", "--suite", "quick", "--device", "cpu")
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS
    )


def start_make(folder: Path) -> subprocess.Popen:
    """`pocket bench make`, going on, in a session of its own so that it can be killed with its Snakemake."""
    command = bench_command("make", "--suite", "quick", "--device", "cpu")
    with (folder / "make.log").open("w") as log:
        return subprocess.Popen(
            command, cwd=folder, env=environment(), stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )


def at_work(folder: Path) -> dict[int, str]:
    """Living processes whose working directory is the project: pid -> command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if state not in "ZX" and os.readlink(entry / "cwd") == str(folder):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
    return found


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Ask until it is true."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.05)
