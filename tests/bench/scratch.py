"""A copy of the workflow in a folder of its own, with small experiments: what a user's clone is, in a hostile place."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
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
